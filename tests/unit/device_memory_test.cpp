#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "shunt/device.h"

namespace shunt {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(HostMemory, IsAlignedAndReadsBackWhatWasWritten) {
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

TEST(HostMemory, AnAllocationThatCantBeIsAnError) {
  const auto buffer = host_memory().allocate(std::size_t{1} << 62);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), ErrorCode::kOutOfMemory);
}

TEST(HostMemory, WrapsMemoryThatIsThereWithoutACopy) {
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

std::unique_ptr<BufferGroup> group_of(std::initializer_list<std::size_t> sizes) {
  std::vector<std::unique_ptr<Buffer>> parts;
  for (std::size_t size : sizes) parts.push_back(*host_memory().allocate(size));
  return *BufferGroup::create(std::move(parts));
}

TEST(BufferGroup, IsSeenAsOne) {
  const auto group = group_of({10, 20, 30});
  EXPECT_EQ(group->size(), 60U);
  const auto bytes = counting(45);
  ASSERT_TRUE(group->write(5, bytes));  // over two edges
  std::vector<std::byte> back(45);
  ASSERT_TRUE(group->read(5, back));
  EXPECT_EQ(back, bytes);
  std::byte one;
  ASSERT_TRUE(group->parts()[1]->read(0, {&one, 1}));
  EXPECT_EQ(one, std::byte{5});  // byte 10 of the group
  EXPECT_FALSE(group->write(16, bytes));
  EXPECT_EQ(group->host_data(), nullptr);
  EXPECT_NE(group_of({8})->host_data(), nullptr);
}

TEST(BufferGroup, LocatesWhatLiesInOnePart) {
  const auto group = group_of({10, 20, 30});
  const auto inside = group->locate(12, 18);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->buffer, group->parts()[1].get());
  EXPECT_EQ(inside->offset, 2U);
  EXPECT_FALSE(group->locate(12, 19));  // reaches over the edge
  EXPECT_FALSE(group->locate(59, 2));   // reaches over the end
  EXPECT_TRUE(group->locate(60, 0));
}

TEST(BufferGroup, NeedsPartsOfOneType) {
  EXPECT_FALSE(BufferGroup::create({}));
}

}  // namespace
}  // namespace shunt
