// Packed memory: the calls that a codec gets, and which of its bytes the host reads and writes.
#include "backend_support/packed_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "shunt/message.h"

namespace shunt::test::backend_support_packed_memory_test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;

/// Bytes in reverse order.
class Reversed final : public PackedTensor {
 public:
  Reversed(const Tensor& tensor, Buffer& memory, std::size_t offset)
      : bytes_(static_cast<std::size_t>(byte_span(tensor))), memory_(memory), offset_(offset) {}
  std::size_t plain_bytes() const override { return bytes_; }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    if (from[0] == std::byte{99}) return fail(ErrorCode::kDevice, "99 is refused");
    const Bytes reversed(from.rbegin(), from.rend());
    return memory_.write(offset_ + bytes_ - offset - from.size(), reversed);
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    SHUNT_TRY(memory_.read(offset_ + bytes_ - offset - to.size(), to));
    std::ranges::reverse(to);
    return ok();
  }

 private:
  std::size_t bytes_;
  Buffer& memory_;
  std::size_t offset_;
};

/// Packs I8 tensors, each with four bytes behind it; places them at even offsets only.
class ReversedMemory final : public PackedMemory {
 public:
  ReversedMemory() : PackedMemory("reversed") {}
  std::size_t alignment() const override { return 256; }
  bool packs(const Tensor& tensor) const override { return tensor.dtype == DType::kI8; }
  BufferType* container() override { return container_; }
  void set_container(BufferType& memory) { container_ = &memory; }
  void set_memory(BufferType& memory) { far_ = &memory; }

 protected:
  std::size_t packed_bytes(const Tensor& tensor) const override {
    return static_cast<std::size_t>(byte_span(tensor)) + 4;
  }
  std::unique_ptr<PackedTensor> place(const Tensor& tensor, Buffer& bytes,
                                      std::size_t offset) const override {
    return std::make_unique<Reversed>(tensor, bytes, offset);
  }
  Result<std::unique_ptr<Buffer>> allocate_bytes(std::size_t bytes) override {
    return far_ == nullptr ? PackedMemory::allocate_bytes(bytes) : far_->allocate(bytes);
  }
  Status check_place(const PlacedTensor& placed) const override {
    return placed.offset % 2 == 0 ? ok() : Status(invalid("{} is odd", placed.offset));
  }

 private:
  BufferType* container_ = nullptr;
  BufferType* far_ = nullptr;  // null: the host's
};

/// Memory of a device, out of the host's reach.
class FarBuffer final : public Buffer {
 public:
  FarBuffer(const BufferType& type, std::size_t bytes) : type_(type), bytes_(bytes) {}
  const BufferType& type() const override { return type_; }
  std::size_t size() const override { return bytes_.size(); }
  Status write(std::size_t offset, std::span<const std::byte> from) override {
    std::ranges::copy(from, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return ok();
  }
  Status read(std::size_t offset, std::span<std::byte> to) override {
    if (fails) return fail(ErrorCode::kDevice, "the device is gone");
    std::ranges::copy(std::span(bytes_).subspan(offset, to.size()), to.begin());
    return ok();
  }
  const Bytes& bytes() const { return bytes_; }
  bool fails = false;

 private:
  const BufferType& type_;
  Bytes bytes_;
};

class FarMemory final : public BufferType {
 public:
  std::string_view name() const override { return "far"; }
  std::size_t alignment() const override { return 64; }
  bool host_accessible() const override { return false; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override {
    return std::make_unique<FarBuffer>(*this, bytes);
  }
};

PlacedTensor placed(DType type, std::int64_t n, std::size_t offset) {
  return {*make_tensor(type, {n}), offset};
}

Bytes numbers(std::size_t count) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

class PackedMemoryTest : public testing::Test {
 protected:
  std::unique_ptr<Buffer> allocate(std::size_t bytes, const std::vector<PlacedTensor>& tensors) {
    auto buffer = memory_.allocate_for(bytes, tensors);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? std::move(*buffer) : nullptr;
  }
  void expect_invalid(std::size_t bytes, const std::vector<PlacedTensor>& tensors,
                      const std::string& why) {
    const auto buffer = memory_.allocate_for(bytes, tensors);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(buffer.error().message(), HasSubstr(why));
  }
  ReversedMemory memory_;
};

TEST_F(PackedMemoryTest, IsNotHostAccessibleAndAligned) {
  const auto buffer = allocate(100, {});
  EXPECT_FALSE(memory_.host_accessible());
  EXPECT_EQ(buffer->host_data(), nullptr);
  EXPECT_EQ(&buffer->type(), &memory_);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packed_data(*buffer)) % 256, 0U);
}

TEST_F(PackedMemoryTest, SizesComeFromTheCodecOrThePlainLayout) {
  EXPECT_EQ(memory_.size_of(*make_tensor(DType::kI8, {6})), 10U);
  EXPECT_EQ(memory_.size_of(*make_tensor(DType::kF32, {6})), 24U);
}

TEST_F(PackedMemoryTest, PlacedTensorsArePackedAndOtherBytesPlain) {
  // Two bytes of no tensor, a packed tensor of 3 with 4 behind it, a plain one of 8.
  const auto buffer = allocate(19, {placed(DType::kF32, 2, 10), placed(DType::kI8, 3, 2)});
  const Bytes plain = numbers(19);
  std::memset(packed_data(*buffer), 0, 19);
  ASSERT_TRUE(buffer->write(0, plain));
  Bytes expected = {std::byte{1}, std::byte{2}, std::byte{5}, std::byte{4}, std::byte{3}};
  expected.resize(9, std::byte{0});  // of the codec: not written
  expected.insert(expected.end(), plain.begin() + 9, plain.end());
  EXPECT_EQ(std::memcmp(packed_data(*buffer), expected.data(), 19), 0);
  Bytes back(19, std::byte{77});
  ASSERT_TRUE(buffer->read(0, back));
  Bytes expected_back = plain;
  std::fill_n(expected_back.begin() + 5, 4, std::byte{77});  // nor read
  EXPECT_EQ(back, expected_back);
}

TEST_F(PackedMemoryTest, EveryRangeReadsBackWhatWasWritten) {
  const auto buffer = allocate(22, {placed(DType::kI8, 3, 2), placed(DType::kI8, 4, 10)});
  Bytes plain = numbers(22);
  ASSERT_TRUE(buffer->write(0, plain));
  const auto is_padding = [](std::size_t at) {
    return (at >= 5 && at < 9) || (at >= 14 && at < 18);
  };
  for (std::size_t begin = 0; begin <= 22; ++begin) {
    for (std::size_t end = begin; end <= 22; ++end) {
      for (std::size_t i = begin; i < end; ++i) plain[i] = static_cast<std::byte>(begin + 2 * i);
      ASSERT_TRUE(buffer->write(begin, std::span(plain).subspan(begin, end - begin)));
      Bytes back(22);
      ASSERT_TRUE(buffer->read(0, back));
      for (std::size_t i = 0; i < 22; ++i) {
        if (is_padding(i)) continue;
        ASSERT_EQ(back[i], plain[i]) << begin << " to " << end << " at " << i;
      }
      Bytes part(end - begin);
      ASSERT_TRUE(buffer->read(begin, part));
      for (std::size_t i = begin; i < end; ++i) {
        if (is_padding(i)) continue;
        ASSERT_EQ(part[i - begin], plain[i]) << begin << " to " << end;
      }
    }
  }
}

TEST_F(PackedMemoryTest, RangesOutsideTheBufferAreInvalid) {
  const auto buffer = allocate(9, {placed(DType::kI8, 3, 2)});
  Bytes bytes(10);
  EXPECT_EQ(buffer->write(0, bytes).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(buffer->read(1, std::span(bytes).first(9)).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(buffer->read(9, {}));
}

TEST_F(PackedMemoryTest, ErrorsOfTheCodecAreReturned) {
  const auto buffer = allocate(9, {placed(DType::kI8, 3, 2)});
  const Bytes refused = {std::byte{99}};
  EXPECT_TRUE(buffer->write(0, refused));
  EXPECT_THAT(buffer->write(2, refused).error().message(), HasSubstr("99 is refused"));
}

TEST_F(PackedMemoryTest, BytesMayBeOutOfReachOfTheHost) {
  FarMemory far;
  memory_.set_memory(far);
  const auto buffer = allocate(12, {placed(DType::kI8, 3, 2)});
  EXPECT_EQ(packed_data(*buffer), nullptr);
  EXPECT_EQ(&buffer->type(), &memory_);
  auto* const bytes = static_cast<FarBuffer*>(packed_bytes_of(*buffer));
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(&bytes->type(), &far);
  EXPECT_EQ(packed_bytes_of(*bytes), nullptr) << "it is no packed memory";
  ASSERT_TRUE(buffer->write(0, numbers(12)));
  Bytes expected = numbers(12);
  std::swap(expected[2], expected[4]);
  std::fill_n(expected.begin() + 5, 4, std::byte{0});  // of the codec: not written
  EXPECT_EQ(bytes->bytes(), expected);
  Bytes back(12);
  ASSERT_TRUE(buffer->read(0, back));
  expected = numbers(12);
  std::fill_n(expected.begin() + 5, 4, std::byte{0});
  EXPECT_EQ(back, expected);
}

TEST_F(PackedMemoryTest, ErrorsOfTheMemoryAreReturned) {
  FarMemory far;
  memory_.set_memory(far);
  const auto buffer = allocate(12, {placed(DType::kI8, 3, 2)});
  static_cast<FarBuffer*>(packed_bytes_of(*buffer))->fails = true;
  Bytes back(12);
  EXPECT_THAT(buffer->read(0, std::span(back).first(2)).error().message(),
              HasSubstr("the device is gone"));
  EXPECT_THAT(buffer->read(2, std::span(back).first(3)).error().message(),
              HasSubstr("the device is gone"));
}

TEST_F(PackedMemoryTest, InvalidPlacesAreRejected) {
  expect_invalid(6, {placed(DType::kI8, 3, 0)}, "is not inside a buffer of 6 bytes");
  expect_invalid(64, {placed(DType::kI8, 3, 66)}, "is not inside");
  expect_invalid(64, {placed(DType::kI8, 3, static_cast<std::size_t>(-2))}, "is not inside");
  expect_invalid(64, {placed(DType::kI8, 3, 0), placed(DType::kF32, 1, 6)}, "overlap at byte 6");
  expect_invalid(64, {placed(DType::kI8, 3, 1)}, "1 is odd");
}

TEST_F(PackedMemoryTest, BuffersMayBePlacedInTheirContainerMemory) {
  memory_.set_container(host_memory());
  const auto plain = *host_memory().allocate(12);
  ASSERT_TRUE(plain->write(0, numbers(12)));
  const auto packed = memory_.place_in(*plain, std::array{placed(DType::kI8, 3, 2)});
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_EQ(&(*packed)->type(), &memory_);
  EXPECT_EQ((*packed)->size(), 12U);
  EXPECT_EQ(packed_data(**packed), plain->host_data());
  EXPECT_TRUE(is_placed(**packed, 2, *make_tensor(DType::kI8, {3})));
  // Bytes 3, 4 and 5 of the container, in reverse order.
  Bytes back(3);
  ASSERT_TRUE((*packed)->read(2, back));
  EXPECT_EQ(back, (Bytes{std::byte{5}, std::byte{4}, std::byte{3}}));
  ASSERT_TRUE((*packed)->write(2, numbers(3)));
  Bytes bytes(12);
  ASSERT_TRUE(plain->read(0, bytes));
  Bytes expected = numbers(12);
  expected[2] = std::byte{3};
  expected[3] = std::byte{2};
  expected[4] = std::byte{1};
  EXPECT_EQ(bytes, expected);
}

TEST_F(PackedMemoryTest, BuffersCannotBePlacedInOtherMemory) {
  const auto plain = *host_memory().allocate(64);
  const auto refuse = [&](const std::vector<PlacedTensor>& tensors, ErrorCode code) {
    const auto refused = memory_.place_in(*plain, tensors);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), code) << refused.error().message();
  };
  refuse({}, ErrorCode::kUnsupported);
  ReversedMemory other;
  memory_.set_container(other);
  refuse({}, ErrorCode::kInvalidArgument);
  memory_.set_container(host_memory());
  refuse({placed(DType::kI8, 3, 58)}, ErrorCode::kInvalidArgument);
  refuse({placed(DType::kI8, 3, 0), placed(DType::kF32, 1, 6)}, ErrorCode::kInvalidArgument);
  EXPECT_EQ(host_memory().place_in(*plain, {}).error().code(), ErrorCode::kUnsupported);
}

TEST_F(PackedMemoryTest, FindsPackedTensorsByTheirStart) {
  const auto buffer = allocate(64, {placed(DType::kI8, 3, 2), placed(DType::kF32, 2, 32)});
  PackedTensor* const found = find_packed({buffer.get(), 2});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->plain_bytes(), 3U);
  EXPECT_EQ(find_packed({buffer.get(), 3}), nullptr);
  EXPECT_EQ(find_packed({buffer.get(), 32}), nullptr);
  const auto other = host_memory().allocate(64);
  EXPECT_EQ(find_packed({other->get(), 2}), nullptr);
  EXPECT_EQ(find_packed({}), nullptr);
}

TEST_F(PackedMemoryTest, IsPlacedChecksOffsetShapeAndType) {
  const auto buffer = allocate(64, {placed(DType::kI8, 3, 2), placed(DType::kF32, 2, 32)});
  EXPECT_TRUE(is_placed(*buffer, 2, *make_tensor(DType::kI8, {3})));
  EXPECT_FALSE(is_placed(*buffer, 2, *make_tensor(DType::kI8, {4})));
  EXPECT_FALSE(is_placed(*buffer, 4, *make_tensor(DType::kI8, {3})));
  EXPECT_FALSE(is_placed(*buffer, 40, *make_tensor(DType::kI8, {3})))
      << "the buffer was not told of it";
  EXPECT_TRUE(is_placed(*buffer, 32, *make_tensor(DType::kF32, {2})));
  EXPECT_FALSE(is_placed(*buffer, 4, *make_tensor(DType::kF32, {2}))) << "inside a packed one";
}

}  // namespace
}  // namespace shunt::test::backend_support_packed_memory_test
