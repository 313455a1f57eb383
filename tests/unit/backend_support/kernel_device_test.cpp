// Devices made of a kernel table: packed sources, kernels made of rows, their memory, their
// backend.
#include "backend_support/kernel_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend_support/host_memory_type.h"
#include "backend_support/kernel_rows.h"
#include "backend_support/one_device_backend.h"
#include "shunt/ops.h"

namespace shunt::test::backend_support_kernel_device_test {
namespace {

using testing::ElementsAre;

/// One row an op: which source it reads where that is packed.
struct Row {
  const Op& (*op)();
  std::size_t reads;
};
constexpr std::array kRows = {Row{matmul_op, 0}, Row{add_op, 9}};

class RowKernel final : public Kernel<> {
 public:
  explicit RowKernel(const Row& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  Support supports(const NodeView&, const NoTarget&) const override { return Support::yes(); }
  std::size_t reads() const { return row_.reads; }

 private:
  const Row& row_;
};

std::span<const RowKernel* const> kernels() {
  static const KernelRows<RowKernel, RowKernel> kKernels(kRows);
  return kKernels.list();
}

TEST(KernelRows, MakeAKernelOfEach) {
  ASSERT_EQ(kernels().size(), 2U);
  EXPECT_EQ(&kernels()[0]->op(), &matmul_op());
  EXPECT_EQ(&kernels()[1]->op(), &add_op());
  EXPECT_EQ(kernels()[1]->reads(), 9U);
}

/// Packs matrices.
class Packed final : public PackedMemory {
 public:
  Packed() : PackedMemory("packed") {}
  std::size_t alignment() const override { return 64; }
  bool packs(const Tensor& tensor) const override { return tensor.size(1) > 1; }

 protected:
  std::size_t packed_bytes(const Tensor&) const override { return 64; }
  std::unique_ptr<PackedTensor> place(const Tensor&, Buffer&, std::size_t) const override {
    return {};
  }
};

class RowDevice final : public KernelDevice<RowKernel> {
 public:
  RowDevice() : KernelDevice(std::array{kernels}) {}
  std::string_view name() const override { return "row0"; }
  DeviceInfo info() const override { return {}; }
  const NoTarget& target() const override { return target_; }
  bool can_read(const BufferType& type) const override {
    return type.host_accessible() || &type == &packed;
  }
  BufferType& memory() override { return host_memory(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView&) override {
    return Error(ErrorCode::kUnsupported, "none");
  }
  Packed packed;
  bool reads_plain = true;

 protected:
  bool reads_plain_in(const PackedMemory&) const override { return reads_plain; }
  bool reads_packed(const RowKernel& kernel, const NodeView&, std::size_t source) const override {
    return kernel.reads() == source;
  }

 private:
  NoTarget target_;
};

class KernelDeviceTest : public testing::Test {
 protected:
  Support ask(Operand node, NodeId leaf, const BufferType& type) {
    EXPECT_TRUE(node) << node.error().message();
    std::vector<const BufferType*> memory(g_.graph().size(), nullptr);
    memory[leaf] = &type;
    return device_.supports(g_.graph(), node->id, memory);
  }
  RowDevice device_;
  GraphBuilder g_;
  Value w_ = *g_.weight("w", *make_tensor(DType::kF32, {4, 4}));
  Value x_ = *g_.input("x", *make_tensor(DType::kF32, {4, 4}));
};

TEST_F(KernelDeviceTest, RejectsPackedSourcesThatTheKernelDoesNotRead) {
  EXPECT_TRUE(ask(matmul(g_, w_, x_), w_.id, device_.packed));
  const Support refused = ask(matmul(g_, x_, w_), w_.id, device_.packed);
  EXPECT_EQ(refused.refusal(), Refusal::kLayout);
  EXPECT_EQ(refused.facts(), "it can't read source 1 in packed memory");
  EXPECT_EQ(ask(add(g_, w_, x_), w_.id, device_.packed).refusal(), Refusal::kLayout);
}

TEST_F(KernelDeviceTest, RejectsViewsOfPackedSources) {
  const auto view = reshape(g_, w_, {4, 2, 2});
  EXPECT_EQ(ask(matmul(g_, view, reshape(g_, x_, {4, 2, 2})), w_.id, device_.packed).refusal(),
            Refusal::kLayout);
}

TEST_F(KernelDeviceTest, AcceptsPlainLeaves) {
  const Value row = *g_.weight("row", *make_tensor(DType::kF32, {4}));
  EXPECT_TRUE(ask(add(g_, x_, row), row.id, device_.packed));
  EXPECT_TRUE(ask(add(g_, w_, x_), w_.id, host_memory()));
}

TEST_F(KernelDeviceTest, RejectsPlainLeavesInPackedMemoryItCannotRead) {
  device_.reads_plain = false;
  const Value row = *g_.weight("row", *make_tensor(DType::kF32, {4}));
  const Support refused = ask(add(g_, x_, row), row.id, device_.packed);
  EXPECT_EQ(refused.refusal(), Refusal::kLayout);
  EXPECT_EQ(refused.facts(), "it can't read source 1 in packed memory");
  EXPECT_TRUE(ask(matmul(g_, w_, x_), w_.id, device_.packed)) << "a packed source is another thing";
  Packed other;
  EXPECT_TRUE(ask(add(g_, x_, row), row.id, other)) << "it comes as a copy";
}

TEST_F(KernelDeviceTest, AcceptsPackedMemoryOfAnotherDeviceAsACopy) {
  Packed other;
  EXPECT_TRUE(ask(add(g_, w_, x_), w_.id, other));
}

TEST_F(KernelDeviceTest, RejectsAnOpWithoutAKernel) {
  const auto node = mul(g_, w_, x_);
  EXPECT_EQ(ask(node, w_.id, host_memory()).refusal(), Refusal::kOp);
  EXPECT_EQ(device_.kernel_of(g_.graph().node(node->id)), nullptr);
  EXPECT_EQ(device_.kernel_of(g_.graph().node(w_.id)), nullptr);
}

TEST(HostMemoryType, AllocatesHostMemoryAtItsAlignment) {
  HostMemoryType memory("pages", 4096, {Layout{}, {LayoutKind::kPacked, false, "rounded"}});
  EXPECT_EQ(memory.name(), "pages");
  EXPECT_TRUE(memory.host_accessible());
  EXPECT_EQ(memory.layouts().size(), 2U);
  EXPECT_EQ(memory.layouts()[1].note, "rounded");
  const auto buffer = memory.allocate(100);
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*buffer)->host_data()) % 4096, 0U);
  EXPECT_EQ(&(*buffer)->type(), &memory);
}

TEST(OneDeviceBackend, HasItsDeviceAndNote) {
  auto device = std::make_unique<RowDevice>();
  const Device* const made = device.get();
  OneDeviceBackend backend("row", std::move(device), "a note");
  EXPECT_EQ(backend.name(), "row");
  EXPECT_EQ(backend.note(), "a note");
  EXPECT_THAT(backend.devices(), ElementsAre(made));
}

}  // namespace
}  // namespace shunt::test::backend_support_kernel_device_test
