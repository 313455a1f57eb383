#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "shunt/device.h"

namespace shunt::device_memory_test {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(HostMemory, IsAlignedAndRoundTripsBytes) {
  auto buffer = host_memory().allocate(100);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>((*buffer)->host_data()) % host_memory().alignment(),
            0U);
  const auto bytes = counting(40);
  ASSERT_TRUE((*buffer)->write(60, bytes));
  std::vector<std::byte> back(40);
  ASSERT_TRUE((*buffer)->read(60, back));
  EXPECT_EQ(back, bytes);
}

TEST(HostMemory, RangesOutsideTheBufferAreErrors) {
  auto buffer = host_memory().allocate(100);
  ASSERT_TRUE(buffer);
  std::vector<std::byte> bytes(40);
  EXPECT_FALSE((*buffer)->write(61, bytes));
  EXPECT_FALSE((*buffer)->read(61, bytes));
  EXPECT_FALSE((*buffer)->write(101, {}));
  EXPECT_FALSE((*buffer)->read(static_cast<std::size_t>(-1), bytes));  // offset + size wraps around
  EXPECT_TRUE((*buffer)->write(100, {}));
}

TEST(HostMemory, ImpossibleAllocationIsOutOfMemory) {
  const auto buffer = host_memory().allocate(std::size_t{1} << 62);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), ErrorCode::kOutOfMemory);
}

TEST(HostMemory, WrapsExistingMemoryWithoutACopy) {
  auto bytes = std::make_shared<std::vector<std::byte>>(counting(64));
  const std::weak_ptr<std::vector<std::byte>> watch = bytes;
  const std::byte* data = bytes->data();
  auto buffer = wrap_read_only_memory(*bytes, bytes);
  bytes.reset();
  EXPECT_FALSE(watch.expired());  // the buffer holds it
  EXPECT_EQ(buffer->host_data(), data);
  EXPECT_EQ(buffer->size(), 64U);
  EXPECT_FALSE(buffer->write(0, counting(1)));  // it was given to be read
  buffer.reset();
  EXPECT_TRUE(watch.expired());

  std::array<std::byte, 4> own = {};
  const auto writable = wrap_host_memory(own, nullptr);
  EXPECT_TRUE(writable->write(1, counting(3)));
  EXPECT_EQ(own[3], std::byte{2});
}

}  // namespace
}  // namespace shunt::device_memory_test
