// Memory of CANN devices: the tail behind an operand, pinned memory, memory that is full, and
// memory that chip and host share.
#include <gmock/gmock.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "backends/cann/cann_devices.h"

namespace shunt::test::cann_memory_test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

using CannMemory = CannDevices;

/// Operators may read 32 bytes beyond an operand.
TEST_F(CannMemory, TensorsHaveATailAndAnAlignedStart) {
  BufferType& memory = device().memory();
  const Tensor tensor = *make_tensor(DType::kF32, {10});
  EXPECT_GE(memory.size_of(tensor), 40U + 32U);
  EXPECT_EQ(memory.size_of(*make_tensor(DType::kF32, {0})), 0U);
  EXPECT_EQ(memory.alignment() % 32, 0U);
}

TEST_F(CannMemory, BuffersAreWrittenReadAndFilled) {
  BufferType& memory = device().memory();
  const auto buffer = memory.allocate(1000);
  ASSERT_TRUE(buffer) << buffer.error().message();
  std::vector<std::byte> bytes(100, std::byte{7});
  ASSERT_TRUE((*buffer)->fill(0, 1000, std::byte{1}));
  ASSERT_TRUE((*buffer)->write(900, bytes));
  ASSERT_TRUE((*buffer)->fill(990, 5, std::byte{9}));
  ASSERT_TRUE((*buffer)->read(895, bytes));
  EXPECT_EQ(bytes[4], std::byte{1});
  EXPECT_EQ(bytes[5], std::byte{7});
  EXPECT_EQ(bytes[95], std::byte{9});
  for (const Status& wrong : {(*buffer)->write(901, bytes), (*buffer)->read(901, bytes),
                              (*buffer)->fill(901, 100, std::byte{0})}) {
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), ErrorCode::kInvalidArgument);
  }
  const auto none = memory.allocate(0);
  ASSERT_TRUE(none);
  EXPECT_TRUE((*none)->write(0, {}));
  EXPECT_EQ((*buffer)->host_data(), nullptr) << "the host can't reach a 910B's memory";
}

TEST_F(CannMemory, ABufferMayOutliveItsStreams) {
  std::unique_ptr<Buffer> buffer;
  {
    const auto stream = device().open_stream();
    ASSERT_TRUE(stream);
    buffer = std::move(*device().memory().allocate(64));
    const std::vector<std::byte> bytes(64);
    ASSERT_TRUE((*stream)->write({buffer.get(), 0}, bytes, {}, nullptr));
  }
  std::vector<std::byte> bytes(64, std::byte{1});
  ASSERT_TRUE(buffer->read(0, bytes));
  EXPECT_EQ(bytes[63], std::byte{0});
  EXPECT_GT(twin_.live(), 0U);
}

/// The library aligns to 16 or 64 bytes. It frees only the address that it gave.
TEST_F(CannMemory, PinnedMemoryStartsAtAPage) {
  BufferType* const staging = device().staging_memory();
  ASSERT_NE(staging, nullptr);
  const auto before = twin_.live();
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, 3 * kMiB}) {
    const auto buffer = staging->allocate(bytes);
    ASSERT_TRUE(buffer) << buffer.error().message();
    EXPECT_EQ(std::bit_cast<std::uintptr_t>((*buffer)->host_data()) % 4096, 0U);
    (*buffer)->host_data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(twin_.live(), before + 1);
  }
  EXPECT_EQ(twin_.live(), before);
  EXPECT_EQ(twin_.calls("aclrtFreeHost"), twin_.calls("aclrtMallocHost"));
}

TEST_F(CannMemory, PinnedMemoryThatIsRefusedIsAWarning) {
  reopen({{"FAIL_HOST_MEMORY", "1+"}});
  const auto buffer = device().staging_memory()->allocate(64);
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto warnings = device().warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0].text, HasSubstr("no pinned memory"));
  EXPECT_EQ(warnings[0].count, 1U);
}

TEST_F(CannMemory, AFullDeviceIsOutOfMemory) {
  reopen({{"MEMORY", "67108864"}});
  BufferType& memory = device().memory();
  EXPECT_EQ(device().info().memory_total, 64 * kMiB);
  const auto expect_refused = [&](std::size_t bytes) {
    const auto refused = memory.allocate(bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory) << refused.error().message();
  };
  expect_refused(65 * kMiB);
  auto first = memory.allocate(40 * kMiB);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_LT(device().memory_free(), 25 * kMiB);
  expect_refused(40 * kMiB);
  first->reset();
  EXPECT_TRUE(memory.allocate(40 * kMiB)) << "freed memory is there again";
}

TEST_F(CannMemory, MemoryThatOthersHoldIsNotFree) {
  const auto before = device().memory_free();
  reopen({{"FULL_MEMORY", "1073741824"}});
  EXPECT_EQ(device().memory_free(), before - 1024 * kMiB);
}

TEST_F(CannMemory, AnAllocationThatTheLibraryRefusesIsAnErrorWithItsCode) {
  twin_.set("FAIL_DEVICE_MEMORY", "1");
  const auto refused = device().memory().allocate(64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);
  ASSERT_TRUE(refused.error().vendor().has_value());
  EXPECT_EQ(refused.error().vendor()->code, 207001);
  EXPECT_THAT(refused.error().message(), HasSubstr("aclrtMalloc failed"));
  EXPECT_TRUE(device().memory().allocate(64));
}

/// A 310B is part of the host's chip.
class CannSharedMemory : public CannMemory {
 protected:
  void SetUp() override {
    if (twin_.there()) twin_.set("PROFILE", "310b");
    CannMemory::SetUp();
  }
};

TEST_F(CannSharedMemory, TheHostReadsAndWritesBuffersInPlace) {
  EXPECT_TRUE(device().info().host_memory);
  EXPECT_TRUE(device().memory().host_accessible());
  EXPECT_EQ(device().staging_memory(), nullptr);
  const auto buffer = device().memory().allocate(64);
  ASSERT_TRUE(buffer);
  ASSERT_NE((*buffer)->host_data(), nullptr);
  (*buffer)->host_data()[3] = std::byte{5};
  std::array<std::byte, 4> bytes = {};
  ASSERT_TRUE((*buffer)->read(0, bytes));
  EXPECT_EQ(bytes[3], std::byte{5});
}

/// But for the counters of checks, which a run copies for the host.
TEST_F(CannSharedMemory, ARunCopiesNothing) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 3}));
  const auto y = mul(g, add(g, x, x), x);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto run = make_run(graph, {{x->id, make_values({.sizes = {64, 3, 1, 1}}, 1)}});
  ASSERT_NE(run, nullptr);
  const auto copies = [&] {
    return twin_.count(AscendCount::kCopiesToDevice) + twin_.count(AscendCount::kCopiesToHost);
  };
  const auto before = copies();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of(run->plan().run()), "");
  EXPECT_EQ(copies(), before);
}

}  // namespace
}  // namespace shunt::test::cann_memory_test
