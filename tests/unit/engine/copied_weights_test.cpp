// Which weights are copied, and how they come out of the file.
#include "engine/load/copied_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/aligned_bytes.h"
#include "engine/load/weights_in_memory.h"
#include "shunt/engine.h"
#include "support/gguf_bytes.h"
#include "support/models.h"
#include "support/resident.h"
#include "support/test_device.h"
#include "tensor/byte_order.h"

namespace shunt::test::engine_copied_weights_test {
namespace {

TEST(CopiesWeightsByDefault, OnACpuOnlyWithTwiceTheMemory) {
  EXPECT_TRUE(copies_unasked(1, 1000, 2000));
  EXPECT_FALSE(copies_unasked(1, 1001, 2000));
  EXPECT_FALSE(copies_unasked(1, 1001, 2001));
  EXPECT_TRUE(copies_unasked(1, 0, 0));
  EXPECT_FALSE(copies_unasked(1, 1, 1));
}

TEST(CopiesWeightsByDefault, NotWithOtherDevices) {
  EXPECT_FALSE(copies_unasked(2, 1, std::uint64_t{1} << 40));
}

TEST(CopiesWeightsByDefault, NotIfTheFreeMemoryIsUnknown) {
  EXPECT_FALSE(copies_unasked(1, 1, {}));
}

TEST(WeightMode, NamesAllValues) {
  EXPECT_EQ(to_string(WeightMode::kAuto), "auto");
  EXPECT_EQ(to_string(WeightMode::kMapped), "mapped");
  EXPECT_EQ(to_string(WeightMode::kCopied), "copied");
  EXPECT_EQ(to_string(static_cast<WeightMode>(3)), "unknown");
}

/// A file of a weight of 20 MiB, which is no multiple of the size of one copy, and one of a row.
/// Each number is its index.
class WeightsOfAFile : public ::testing::Test {
 protected:
  WeightsOfAFile() {
    gguf::Writer writer;
    EXPECT_TRUE(writer.add_tensor("row", *make_tensor(DType::kF32, {7})));
    EXPECT_TRUE(writer.add_tensor("large", *make_tensor(DType::kF32, {1000, 5243})));
    for (std::size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = static_cast<float>(i);
    const auto numbers = std::as_bytes(std::span(numbers_));
    std::vector<std::byte> bytes(numbers.begin(), numbers.end());
    convert_byte_order(DType::kF32, std::endian::little, bytes);
    const Status written = writer.write(path_, [&](std::size_t index) {
      return Result<std::span<const std::byte>>(
          std::span(bytes).first(index == 0 ? 28 : bytes.size()));
    });
    EXPECT_TRUE(written) << written.error().message();
  }

  /// Copies both; returns the reported progress.
  static std::vector<std::uint64_t> fill(const gguf::File& file, WeightBlocks& blocks) {
    std::vector<WeightInMemory> weights;
    for (const gguf::TensorInfo& info : file.tensors()) weights.push_back({&info, info.tensor});
    auto made = WeightBlocks::allocate(host_memory(), std::move(weights));
    EXPECT_TRUE(made);
    blocks = std::move(*made);
    std::vector<std::uint64_t> told;
    EXPECT_TRUE(blocks.fill(file, [&](std::uint64_t bytes) { told.push_back(bytes); }));
    return told;
  }

  void expect_filled(const WeightBlocks& blocks) const {
    const Address row = blocks.address(0);
    const Address large = blocks.address(1);
    EXPECT_EQ(std::memcmp(row.buffer->host_data() + row.offset, numbers_.data(), 28), 0);
    EXPECT_EQ(std::memcmp(large.buffer->host_data() + large.offset, numbers_.data(),
                          numbers_.size() * sizeof(float)),
              0);
  }

  TempFolder folder_;
  std::string path_ = folder_.file("weights.gguf");
  std::vector<float> numbers_ = std::vector<float>(1000 * 5243);
};

TEST_F(WeightsOfAFile, AreCopiedInPiecesAndThePagesOfTheFileReleased) {
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file) << file.error().message();
  const std::size_t all = numbers_.size() * sizeof(float);
  // Read once: now the pages are there.
  const auto bytes = file->data(file->tensors()[1]);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    ASSERT_EQ(load_little<float>(&bytes[i * sizeof(float)]), numbers_[i]);
  }
  ASSERT_GT(resident_bytes(path_), all - (1U << 20));
  WeightBlocks blocks;
  const std::vector<std::uint64_t> told = fill(*file, blocks);
  expect_filled(blocks);
  EXPECT_LT(resident_bytes(path_), 1U << 20);
  std::uint64_t sum = 0;
  for (const std::uint64_t each : told) {
    sum += each;
    // 64 rows belong together; only the ends of weights are no multiple of that.
    EXPECT_TRUE(each % (64 * 4000) == 0 || each == 28 || sum == all || sum == all + 28) << each;
    EXPECT_LE(each, std::uint64_t{8} << 20);
  }
  EXPECT_EQ(sum, all + 28);
  EXPECT_EQ(told.size(), 4U);
}

TEST_F(WeightsOfAFile, DoNotReleasePagesOfAnInMemoryFile) {
  const auto opened = gguf::File::open(path_);
  ASSERT_TRUE(opened);
  const auto whole = opened->part_bytes(0);
  // Pages of this process, which would be lost if they were let go.
  const AlignedBytes copy = allocate_aligned(whole.size(), page_size());
  ASSERT_NE(copy, nullptr);
  std::memcpy(copy.get(), whole.data(), whole.size());
  const auto file = gguf::File::parse({copy.get(), whole.size()}, "copy");
  ASSERT_TRUE(file) << file.error().message();
  WeightBlocks blocks;
  fill(*file, blocks);
  expect_filled(blocks);
  EXPECT_EQ(std::memcmp(copy.get(), whole.data(), whole.size()), 0);
}

TEST_F(WeightsOfAFile, AreAnnouncedToTheDeviceMemoryPerBlock) {
  const auto file = gguf::File::open(path_);
  ASSERT_TRUE(file);
  const gguf::TensorInfo& row = file->tensors()[0];
  const gguf::TensorInfo& large = file->tensors()[1];
  const std::size_t bytes = numbers_.size() * sizeof(float);
  for (const bool together : {true, false}) {
    TestDevice device({.max_buffer = together ? bytes + 4096 : bytes,
                       .alignment = 256,
                       .wants_weight = [](const Graph&, NodeId) { return true; }});
    const Graph none;
    BufferType* const memory = device.weight_forms(none, 0).front().memory;
    ASSERT_NE(memory, nullptr);
    const auto blocks =
        WeightBlocks::allocate(*memory, {{&row, row.tensor}, {&large, large.tensor}});
    ASSERT_TRUE(blocks) << blocks.error().message();
    const auto& placed = device.weights_placed();
    ASSERT_EQ(placed.size(), together ? 1U : 2U);
    std::size_t rows = 0;
    std::size_t larges = 0;
    for (std::size_t block = 0; block < placed.size(); ++block) {
      for (const PlacedTensor& tensor : placed[block]) {
        const bool is_row = tensor.tensor.shape == row.tensor.shape;
        ++(is_row ? rows : larges);
        const Address at = blocks->address(is_row ? 0 : 1);
        EXPECT_EQ(at.offset, tensor.offset);
        EXPECT_EQ(at.buffer, blocks->blocks[block].get());
        EXPECT_EQ(tensor.offset % 256, 0U);
      }
    }
    EXPECT_EQ(rows, 1U);
    EXPECT_EQ(larges, 1U);
  }
}

/// Offers weights in memory of another device.
class Misleading final : public Device {
 public:
  std::string_view name() const override { return inner.name(); }
  DeviceInfo info() const override { return inner.info(); }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return inner.supports(graph, node, memory);
  }
  bool can_read(const BufferType& type) const override { return inner.can_read(type); }
  BufferType& memory() override { return inner.memory(); }
  std::vector<WeightCandidate> weight_forms(const Graph&, NodeId) override {
    return {{&other.memory(), false, 0.5, "elsewhere"}};
  }
  Result<std::unique_ptr<Stream>> open_stream() override { return inner.open_stream(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override {
    return inner.prepare(segment);
  }

  TestDevice inner{{.name = "test0"}};
  TestDevice other{{.name = "test1"}};
};

TEST(WeightForms, UnreadableByTheirDeviceAreAnErrorOnLoad) {
  const SynthModel file(tiny_shape());
  Misleading device;
  TestDevice host({.name = "cpu0", .kind = DeviceKind::kCpu, .host_accessible = true});
  LoadOptions options;
  options.memory_margin = 0;
  const auto model = Model::load(file.path(), std::vector<Device*>{&device, &host}, options);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kInternal);
  EXPECT_THAT(model.error().message(),
              testing::ContainsRegex(
                  "test0 offers .*\\.weight \\(weight\\) in .* memory, which it can't read"));
  EXPECT_EQ(device.inner.allocated() + device.other.allocated() + host.allocated(), 0U);
}

}  // namespace
}  // namespace shunt::test::engine_copied_weights_test
