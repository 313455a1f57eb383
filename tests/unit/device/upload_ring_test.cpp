// Uploads through two pinned buffers.
#include "device/upload_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/counting.h"
#include "support/test_accelerator.h"
#include "support/test_device.h"

namespace shunt::test::device_upload_ring_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes read(Buffer& buffer, std::size_t offset, std::size_t bytes) {
  Bytes to(bytes);
  EXPECT_TRUE(buffer.read(offset, to));
  return to;
}

TEST(UploadRing, CopiesEveryByteThroughPinnedMemory) {
  for (const std::size_t slot : {1, 7, 64, 4096}) {
    TestDevice device({.pins_memory = true});
    const auto buffer = *device.memory().allocate(1000);
    ASSERT_TRUE(buffer->fill(0, 1000, std::byte{0xee}));
    const auto ring = UploadRing::create(device, slot);
    ASSERT_TRUE(ring) << ring.error().message();
    EXPECT_EQ(device.pinned(), 2 * slot);
    const Bytes from = counting(800);
    // Two writes that touch each other, and an empty one.
    ASSERT_TRUE((*ring)->write({buffer.get(), 100}, std::span(from).first(333)));
    ASSERT_TRUE((*ring)->write({buffer.get(), 433}, std::span(from).subspan(333)));
    ASSERT_TRUE((*ring)->write({buffer.get(), 1000}, {}));
    ASSERT_TRUE((*ring)->finish());
    EXPECT_EQ(device.moved_through_pinned(), 800U);
    EXPECT_EQ(read(*buffer, 100, 800), from);
    EXPECT_THAT(read(*buffer, 0, 100), Each(std::byte{0xee}));
    EXPECT_THAT(read(*buffer, 900, 100), Each(std::byte{0xee}));
  }
}

TEST(UploadRing, FreesItsMemory) {
  TestDevice device({.pins_memory = true});
  { ASSERT_TRUE(UploadRing::create(device, 100)); }
  EXPECT_EQ(device.pinned(), 0U);
}

/// The source may change as soon as write() returns, in every order of the device's work.
TEST(UploadRing, SourceMayChangeOnceWriteReturns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestWorld world(seed);
    TestDevice device({.pins_memory = true, .world = &world, .late_errors = true});
    const auto buffer = *device.memory().allocate(1000);
    const auto ring = UploadRing::create(device, 100);
    ASSERT_TRUE(ring);
    const Bytes from = counting(1000);
    for (std::size_t at = 0; at < 1000; at += 250) {
      Bytes changing(from.begin() + static_cast<std::ptrdiff_t>(at),
                     from.begin() + static_cast<std::ptrdiff_t>(at) + 250);
      ASSERT_TRUE((*ring)->write({buffer.get(), at}, changing));
      std::ranges::fill(changing, std::byte{0xee});
    }
    ASSERT_TRUE((*ring)->finish());
    EXPECT_EQ(read(*buffer, 0, 1000), from);
  }
}

/// On the simulated clock the host waits only for the buffer that it fills next.
TEST(UploadRing, FillsOneBufferWhileTheOtherIsCopied) {
  TestWorld world;
  TestDevice device({.pins_memory = true, .world = &world, .seconds_per_byte = 1});
  const auto buffer = *device.memory().allocate(1000);
  const auto ring = UploadRing::create(device, 100);
  ASSERT_TRUE(ring);
  const Bytes from = counting(1000);
  const auto write = [&](std::size_t at, std::size_t bytes) {
    ASSERT_TRUE((*ring)->write({buffer.get(), at}, std::span(from).subspan(at, bytes)));
  };
  write(0, 200);
  EXPECT_EQ(world.host_now(), 0) << "both buffers were free";
  write(200, 100);
  EXPECT_EQ(world.host_now(), 100) << "it waited for the first";
  write(300, 700);
  EXPECT_EQ(world.host_now(), 800) << "all but the last two have been waited for";
  ASSERT_TRUE((*ring)->finish());
  EXPECT_EQ(world.host_now(), 1000);
  EXPECT_EQ(read(*buffer, 0, 1000), from);
}

TEST(UploadRing, SlotSizeIsAtMostTheMaxBufferSize) {
  TestDevice device({.max_buffer = 50, .pins_memory = true});
  const auto ring = UploadRing::create(device, 1000);
  ASSERT_TRUE(ring);
  EXPECT_EQ(device.pinned(), 100U);
}

TEST(UploadRing, OfADeviceWithoutPinnedMemoryIsAnError) {
  TestDevice device(TestDeviceConfig{});
  const auto none = UploadRing::create(device, 100);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(none.error().message(), "test0 has no staging memory");
  TestDevice pinning({.pins_memory = true});
  const auto empty = UploadRing::create(pinning, 0);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().code(), ErrorCode::kInvalidArgument);
  pinning.fail_at({.allocation = 2});
  const auto refused = UploadRing::create(pinning, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(pinning.pinned(), 0U);
}

TEST(UploadRing, RangeOutsideTheBufferIsInvalidAndTheRingStaysUsable) {
  TestDevice device({.pins_memory = true});
  const auto buffer = *device.memory().allocate(100);
  const auto ring = UploadRing::create(device, 64);
  ASSERT_TRUE(ring);
  const Bytes from = counting(100);
  for (const std::size_t offset :
       {std::size_t{1}, std::size_t{101}, static_cast<std::size_t>(-1)}) {
    const Status status = (*ring)->write({buffer.get(), offset}, from);
    ASSERT_FALSE(status) << offset;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
  ASSERT_TRUE((*ring)->write({buffer.get(), 0}, from));
  ASSERT_TRUE((*ring)->finish());
  EXPECT_EQ(read(*buffer, 0, 100), from);
}

/// finish() returns the error of a failed copy at the latest. Writes after it succeed.
TEST(UploadRing, FinishReportsALateError) {
  for (const bool late : {false, true}) {
    for (std::size_t failing = 1; failing <= 10; ++failing) {
      TestWorld world(failing);
      TestDevice device(
          {.pins_memory = true, .world = late ? &world : nullptr, .late_errors = late});
      const auto buffer = *device.memory().allocate(1000);
      const auto ring = UploadRing::create(device, 100);
      ASSERT_TRUE(ring);
      const Bytes from = counting(1000);
      device.fail_at({.copy = failing});
      const Status written = (*ring)->write({buffer.get(), 0}, from);
      const Status after = (*ring)->write({buffer.get(), 0}, std::span(from).first(1));
      EXPECT_TRUE(written || !after) << "nothing is written after an error";
      const Status finished = (*ring)->finish();
      ASSERT_FALSE(finished) << failing;
      ASSERT_TRUE(finished.error().vendor()) << finished.error().message();
      EXPECT_EQ(finished.error().vendor()->code, 719);
      device.fail_at({});
      ASSERT_TRUE((*ring)->write({buffer.get(), 0}, from));
      ASSERT_TRUE((*ring)->finish());
      EXPECT_EQ(read(*buffer, 0, 1000), from);
    }
  }
}

TEST(UploadRing, LostDeviceStaysAnError) {
  TestWorld world;
  TestDevice device({.pins_memory = true, .world = &world, .late_errors = true});
  const auto buffer = *device.memory().allocate(1000);
  const auto ring = UploadRing::create(device, 100);
  ASSERT_TRUE(ring);
  device.fail_at({.copy = 3, .for_good = true});
  const Bytes from = counting(1000);
  for (int i = 0; i < 2; ++i) {
    (void)(*ring)->write({buffer.get(), 0}, from);
    const Status finished = (*ring)->finish();
    ASSERT_FALSE(finished) << i;
    EXPECT_THAT(finished.error().message(), HasSubstr("test0: the copy failed"));
    ASSERT_TRUE(finished.error().vendor()) << finished.error().message();
    EXPECT_EQ(finished.error().vendor()->code, 719);
  }
}

/// Ranges of packed weights, on a device with threads of its own.
TEST(UploadRing, WritesPackedWeightsConcurrently) {
  TestAccelerator device({});
  BufferType& packed = *device.weight_forms(Graph(), 0).front().memory;
  const Tensor tensor = *make_tensor(DType::kF32, {50, 5});
  const auto buffer = packed.allocate_for(1000, std::array{PlacedTensor{tensor, 0}});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const auto ring = UploadRing::create(device, 96);
  ASSERT_TRUE(ring) << ring.error().message();
  const Bytes from = counting(1000);
  ASSERT_TRUE((*ring)->write({buffer->get(), 0}, from));
  ASSERT_TRUE((*ring)->finish());
  EXPECT_EQ(read(**buffer, 0, 1000), from);
}

}  // namespace
}  // namespace shunt::test::device_upload_ring_test
