// Rearranged weights and those in FRACTAL_NZ: their bytes on the device, and reads and writes in
// the GGUF layout.
#include "backends/cann/weight_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "backends/cann/fractal_memory.h"
#include "shunt/message.h"

namespace shunt::cann::weight_memory_test {
namespace {

using Bytes = std::vector<std::byte>;

/// Memory of a device, out of the host's reach.
class FarBuffer final : public Buffer {
 public:
  FarBuffer(const BufferType& type, std::size_t size) : bytes(size, std::byte{0xEE}), type_(type) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return bytes.size(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    if (fails) return fail(ErrorCode::kDevice, "the device is gone");
    std::ranges::copy(from, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    if (fails) return fail(ErrorCode::kDevice, "the device is gone");
    std::ranges::copy(std::span(bytes).subspan(offset, to.size()), to.begin());
    return ok();
  }
  Bytes bytes;
  bool fails = false;

 private:
  const BufferType& type_;
};

class FarMemory final : public BufferType {
 public:
  std::string_view name() const override { return "far"; }
  std::size_t alignment() const override { return 64; }
  std::size_t max_size() const override { return most; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return std::make_unique<FarBuffer>(*this, bytes);
  }
  std::size_t most = 1 << 20;  ///< max_size()
};

const Chip& chip(const char* soc) {
  return *find_chip(soc);
}

Bytes bytes_of(std::initializer_list<int> numbers) {
  Bytes bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

FarBuffer& far(const Buffer& buffer) {
  return static_cast<FarBuffer&>(*packed_bytes_of(buffer));
}

/// A buffer of one tensor.
std::unique_ptr<Buffer> allocate_in(PackedMemory& memory, const Tensor& tensor) {
  const PlacedTensor placed{tensor, 0};
  auto buffer = memory.allocate_for(memory.size_of(tensor), {&placed, 1});
  EXPECT_TRUE(buffer) << buffer.error().message();
  return buffer ? std::move(*buffer) : nullptr;
}

/// Writes bytes in a range, which changes these in `plain` and no others.
void expect_range(Buffer& buffer, Bytes& plain, std::size_t begin, std::size_t end,
                  std::mt19937& random) {
  for (std::size_t i = begin; i < end; ++i) plain[i] = static_cast<std::byte>(random());
  const std::span<const std::byte> range = std::span(plain).subspan(begin, end - begin);
  ASSERT_TRUE(buffer.write(begin, range));
  Bytes all(plain.size());
  ASSERT_TRUE(buffer.read(0, all));
  ASSERT_EQ(all, plain) << begin << " to " << end;
  Bytes part(range.size());
  ASSERT_TRUE(buffer.read(begin, part));
  ASSERT_TRUE(std::ranges::equal(part, range)) << begin << " to " << end;
}

/// `bytes`: of the tensor.
void expect_errors_of_the_device(Buffer& buffer, std::size_t bytes) {
  Bytes plain(bytes);
  ASSERT_TRUE(buffer.write(0, plain));
  far(buffer).fails = true;
  EXPECT_EQ(buffer.write(0, plain).error().code(), ErrorCode::kDevice);
  EXPECT_EQ(buffer.write(1, std::span(plain).first(3)).error().code(), ErrorCode::kDevice);
  EXPECT_EQ(buffer.read(0, plain).error().code(), ErrorCode::kDevice);
}

class RearrangedTest : public testing::Test {
 protected:
  std::unique_ptr<Buffer> allocate(const Tensor& tensor) { return allocate_in(memory_, tensor); }

  FarMemory far_;
  WeightMemory memory_{"weights", far_, chip("Ascend910B3")};
};

TEST_F(RearrangedTest, MemoryIsExactAndLikeTheDevices) {
  EXPECT_EQ(memory_.alignment(), 64U);
  EXPECT_EQ(memory_.max_size(), std::size_t{1} << 20);
  EXPECT_FALSE(memory_.host_accessible());
  for (const Layout& layout : memory_.layouts()) EXPECT_TRUE(layout.exact);
}

TEST_F(RearrangedTest, HoldsMatricesOfTheTypesThatTheChipMultiplies) {
  WeightMemory of_310p("weights", far_, chip("Ascend310P3"));
  WeightMemory of_310b("weights", far_, chip("Ascend310B1"));
  const auto holds = [](const WeightMemory& memory, DType type, const Shape& shape) {
    return memory.packs(*make_tensor(type, shape));
  };
  EXPECT_TRUE(holds(memory_, DType::kQ8_0, {64, 5}));
  EXPECT_TRUE(holds(memory_, DType::kQ4_0, {64, 5}));
  EXPECT_TRUE(holds(memory_, DType::kQ4_0, {64, 5, 3}));
  EXPECT_TRUE(holds(of_310p, DType::kQ8_0, {64, 5}));
  EXPECT_FALSE(holds(of_310p, DType::kQ4_0, {64, 5}));
  EXPECT_FALSE(holds(of_310b, DType::kQ8_0, {64, 5}));
  EXPECT_FALSE(holds(memory_, DType::kF16, {64, 5}));
  EXPECT_FALSE(holds(memory_, DType::kQ4_1, {64, 5}));
  EXPECT_FALSE(holds(memory_, DType::kQ4_0, {64, 1})) << "one column";
  EXPECT_TRUE(holds(memory_, DType::kQ8_0, {64, 1}));
  EXPECT_FALSE(holds(memory_, DType::kQ8_0, {65536, 2})) << "more than a product takes";
  EXPECT_FALSE(holds(memory_, DType::kQ8_0, {64, 0}));
  EXPECT_FALSE(holds(memory_, DType::kQ8_0, {64, 5, 1, 2}));
}

/// A scale and 32 numbers of 8 bits each: two blocks.
TEST_F(RearrangedTest, Q8HasAllNumbersThenAllScales) {
  const Tensor tensor = *make_tensor(DType::kQ8_0, {32, 2});
  const auto buffer = allocate(tensor);
  Bytes plain = bytes_of({0x11, 0x22});
  for (int i = 0; i < 32; ++i) plain.push_back(static_cast<std::byte>(i));
  plain.push_back(std::byte{0x33});
  plain.push_back(std::byte{0x44});
  for (int i = 0; i < 32; ++i) plain.push_back(static_cast<std::byte>(-i));
  ASSERT_TRUE(buffer->write(0, plain));
  const Bytes& held = far(*buffer).bytes;
  const std::size_t scales = layout_of(tensor).scales_at;
  ASSERT_GE(scales, 64U + 32U) << "operators read behind the numbers";
  ASSERT_GE(held.size(), scales + 4 + 32);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(held[static_cast<std::size_t>(i)], static_cast<std::byte>(i));
    EXPECT_EQ(held[static_cast<std::size_t>(32 + i)], static_cast<std::byte>(-i));
  }
  EXPECT_EQ(Bytes(held.begin() + static_cast<std::ptrdiff_t>(scales),
                  held.begin() + static_cast<std::ptrdiff_t>(scales) + 4),
            bytes_of({0x11, 0x22, 0x33, 0x44}));
}

/// Element j of the block is j and element 16 + j is 15 - j, both 8 above their number. On the
/// device the first byte has the numbers -8 and -7 (0x8 and 0x9), the last one -7 and -8.
TEST_F(RearrangedTest, Q4HasNumbersInTheOrderOfTheElements) {
  const Tensor tensor = *make_tensor(DType::kQ4_0, {32, 2});
  const auto buffer = allocate(tensor);
  Bytes block = bytes_of({0x12, 0x34});
  for (int j = 0; j < 16; ++j) block.push_back(static_cast<std::byte>(j | (15 - j) << 4));
  ASSERT_TRUE(buffer->write(0, block));
  ASSERT_TRUE(buffer->write(18, block));
  const Bytes expected = bytes_of({0x98, 0xBA, 0xDC, 0xFE, 0x10, 0x32, 0x54, 0x76,  //
                                   0x67, 0x45, 0x23, 0x01, 0xEF, 0xCD, 0xAB, 0x89});
  const Bytes& held = far(*buffer).bytes;
  EXPECT_EQ(Bytes(held.begin(), held.begin() + 16), expected);
  EXPECT_EQ(Bytes(held.begin() + 16, held.begin() + 32), expected);
  const auto scales = held.begin() + static_cast<std::ptrdiff_t>(layout_of(tensor).scales_at);
  EXPECT_EQ(Bytes(scales, scales + 4), bytes_of({0x12, 0x34, 0x12, 0x34}));
}

TEST_F(RearrangedTest, EveryRangeReadsBackWhatWasWritten) {
  std::mt19937 random(1);
  for (const DType type : {DType::kQ8_0, DType::kQ4_0}) {
    const auto buffer = allocate(*make_tensor(type, {64, 2}));
    const std::size_t size = 4 * trait(type).block_bytes;
    Bytes plain(size);
    for (std::byte& byte : plain) byte = static_cast<std::byte>(random());
    ASSERT_TRUE(buffer->write(0, plain));
    for (std::size_t begin = 0; begin < size; begin += 3) {
      for (std::size_t end = begin; end <= size; end += 5)
        ASSERT_NO_FATAL_FAILURE(expect_range(*buffer, plain, begin, end, random));
    }
  }
}

TEST_F(RearrangedTest, ErrorsOfTheDeviceAreReturned) {
  expect_errors_of_the_device(*allocate(*make_tensor(DType::kQ8_0, {64, 2})), 136);
}

class FractalTest : public testing::Test {
 protected:
  std::unique_ptr<Buffer> allocate(const Tensor& tensor) { return allocate_in(memory_, tensor); }

  FarMemory far_;
  FractalMemory memory_{"fractals", far_, true};
};

TEST_F(FractalTest, HoldsMatricesOfF16) {
  const auto holds = [&](DType type, const Shape& shape) {
    return memory_.packs(*make_tensor(type, shape));
  };
  EXPECT_TRUE(holds(DType::kF16, {16, 16}));
  EXPECT_TRUE(holds(DType::kF16, {48, 32}));
  EXPECT_FALSE(holds(DType::kF16, {40, 32}));
  EXPECT_FALSE(holds(DType::kF16, {32, 40}));
  EXPECT_FALSE(holds(DType::kF16, {32, 0}));
  EXPECT_FALSE(holds(DType::kF16, {16, 16, 2}));
  EXPECT_FALSE(holds(DType::kF16, {16, 16, 1, 2}));
  EXPECT_FALSE(holds(DType::kF32, {16, 16}));
  EXPECT_FALSE(holds(DType::kBF16, {16, 16}));
  EXPECT_FALSE(FractalMemory("off", far_, false).packs(*make_tensor(DType::kF16, {16, 16})));
}

/// Element (h, w) of a matrix of H rows is at ((w div 16) * ceil(H / 16) + h div 16) * 256 +
/// (h mod 16) * 16 + w mod 16, as CANN's documentation has it.
TEST_F(FractalTest, ElementsAreWhereTheVendorsFormulaHasThem) {
  constexpr std::size_t kWidth = 48, kHeight = 32, kDown = 2, kAcross = 3;
  const auto buffer = allocate(*make_tensor(DType::kF16, {kWidth, kHeight}));
  Bytes plain;
  for (std::size_t i = 1; i <= kWidth * kHeight; ++i) {
    plain.push_back(static_cast<std::byte>(i & 0xFF));
    plain.push_back(static_cast<std::byte>(i >> 8));
  }
  ASSERT_TRUE(buffer->write(0, plain));
  Bytes expected(kAcross * kDown * 256 * 2);
  for (std::size_t h = 0; h < kHeight; ++h) {
    for (std::size_t w = 0; w < kWidth; ++w) {
      const std::size_t at = ((w / 16) * kDown + h / 16) * 256 + h % 16 * 16 + w % 16;
      for (std::size_t b = 0; b < 2; ++b) expected[2 * at + b] = plain[2 * (h * kWidth + w) + b];
    }
  }
  const Bytes& held = far(*buffer).bytes;
  ASSERT_GE(held.size(), expected.size() + 32) << "operators read behind it";
  EXPECT_TRUE(std::ranges::equal(std::span(held).first(expected.size()), expected));
}

TEST_F(FractalTest, EveryRangeReadsBackWhatWasWritten) {
  constexpr std::size_t kSize = 32 * 48 * 2;
  constexpr std::size_t kGroup = 16 * 32 * 2;  // bytes of 16 rows
  std::mt19937 random(1);
  const auto buffer = allocate(*make_tensor(DType::kF16, {32, 48}));
  Bytes plain(kSize);
  for (std::byte& byte : plain) byte = static_cast<std::byte>(random());
  ASSERT_TRUE(buffer->write(0, plain));
  const std::size_t ends[] = {
      0, 1, 131, kGroup - 1, kGroup, kGroup + 1, 2 * kGroup, 2 * kGroup + 7, kSize - 1, kSize};
  for (const std::size_t begin : ends) {
    for (const std::size_t end : ends) {
      if (end < begin) continue;
      ASSERT_NO_FATAL_FAILURE(expect_range(*buffer, plain, begin, end, random));
    }
  }
}

/// More rows than are rearranged at once.
TEST_F(FractalTest, LargeOnesAreWrittenInPieces) {
  far_.most = std::size_t{1} << 30;
  constexpr std::size_t kRows = 160'000;
  const auto buffer = allocate(*make_tensor(DType::kF16, {32, kRows}));
  Bytes plain(32 * kRows * 2);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * 7 >> 3);
  ASSERT_TRUE(buffer->write(0, plain));
  // The left half of each row, then the right halves.
  const Bytes& held = far(*buffer).bytes;
  for (std::size_t row = 0; row < kRows; ++row) {
    const std::span<const std::byte> whole = std::span(plain).subspan(row * 64, 64);
    ASSERT_TRUE(std::ranges::equal(whole.first(32), std::span(held).subspan(row * 32, 32))) << row;
    ASSERT_TRUE(std::ranges::equal(whole.last(32), std::span(held).subspan((kRows + row) * 32, 32)))
        << row;
  }
  Bytes back(plain.size());
  ASSERT_TRUE(buffer->read(0, back));
  EXPECT_TRUE(back == plain);
}

TEST_F(FractalTest, ErrorsOfTheDeviceAreReturned) {
  expect_errors_of_the_device(*allocate(*make_tensor(DType::kF16, {16, 16})), 512);
}

}  // namespace
}  // namespace shunt::cann::weight_memory_test
