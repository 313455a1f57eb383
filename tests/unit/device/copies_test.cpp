// 2-D copies, fills, and copies between any two buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "shunt/device.h"
#include "support/counting.h"
#include "support/test_accelerator.h"
#include "support/test_device.h"

namespace shunt::test::device_copies_test {
namespace {

using ::testing::HasSubstr;

constexpr std::byte kUntouched{0xee};
constexpr std::size_t kHuge = static_cast<std::size_t>(-1);

std::vector<std::byte> content(Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.size());
  EXPECT_TRUE(buffer.read(0, bytes));
  return bytes;
}

std::unique_ptr<Buffer> filled(BufferType& type, std::size_t bytes) {
  auto buffer = *type.allocate(bytes);
  EXPECT_TRUE(buffer->fill(0, bytes, kUntouched));
  return buffer;
}

/// Rows copied one byte at a time: `to` at its pitch from `to_offset` on, `from` likewise.
void copy_bytes(std::vector<std::byte>& to, std::size_t to_offset,
                const std::vector<std::byte>& from, std::size_t from_offset,
                const CopyShape& shape) {
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t i = 0; i < shape.bytes; ++i) {
      to.at(to_offset + row * shape.to_pitch + i) =
          from.at(from_offset + row * shape.from_pitch + i);
    }
  }
}

constexpr CopyShape kRows = {.rows = 5, .bytes = 3, .to_pitch = 10, .from_pitch = 4};

/// Memory that the host can access, and memory that only copies reach.
class Copies2d : public ::testing::TestWithParam<bool> {
 protected:
  TestDevice device_{TestDeviceConfig{}};
  BufferType& memory() { return GetParam() ? host_memory() : device_.memory(); }
};
INSTANTIATE_TEST_SUITE_P(Memory, Copies2d, ::testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "host" : "device");
});

TEST_P(Copies2d, WriteEachRowAtItsPitch) {
  const auto buffer = filled(memory(), 50);
  const auto from = counting(20);
  ASSERT_TRUE(buffer->write_2d(7, from.data(), kRows));  // the last row ends at 7 + 40 + 3 = 50
  std::vector<std::byte> expected(50, kUntouched);
  copy_bytes(expected, 7, from, 0, kRows);
  EXPECT_EQ(content(*buffer), expected);
}

TEST_P(Copies2d, ReadEachRowAtItsPitch) {
  const auto buffer = *memory().allocate(20);
  const auto from = counting(20);
  ASSERT_TRUE(buffer->write(0, from));
  std::vector<std::byte> to(43, kUntouched);
  ASSERT_TRUE(buffer->read_2d(to.data(), 1, kRows));  // the last row ends at 1 + 16 + 3 = 20
  std::vector<std::byte> expected(43, kUntouched);
  copy_bytes(expected, 0, from, 1, kRows);
  EXPECT_EQ(to, expected);
}

TEST_P(Copies2d, RowsOutsideTheBufferAreRejectedBeforeAnyCopy) {
  const auto buffer = filled(memory(), 50);
  const auto from = counting(20);
  std::vector<std::byte> to(50, kUntouched);
  const auto refused = [&](std::size_t offset, const CopyShape& shape) {
    const Status written = buffer->write_2d(offset, from.data(), shape);
    const CopyShape back = {shape.rows, shape.bytes, shape.from_pitch, shape.to_pitch};
    const Status read = buffer->read_2d(to.data(), offset, back);
    return !written && !read && written.error().code() == ErrorCode::kInvalidArgument &&
           read.error().code() == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(8, kRows));  // one byte too far
  EXPECT_TRUE(refused(51, {}));
  EXPECT_TRUE(refused(0, {.rows = 2, .bytes = 3, .to_pitch = 2, .from_pitch = 3}));  // overlap
  EXPECT_TRUE(refused(0, {.rows = 2, .bytes = 3, .to_pitch = 3, .from_pitch = 2}));
  EXPECT_TRUE(refused(0, {.rows = 1, .bytes = 51, .to_pitch = 51, .from_pitch = 51}));
  // Products and sums that wrap around.
  EXPECT_TRUE(refused(0, {.rows = kHuge, .bytes = 1, .to_pitch = 2, .from_pitch = 2}));
  EXPECT_TRUE(refused(1, {.rows = 2, .bytes = 1, .to_pitch = kHuge, .from_pitch = 1}));
  EXPECT_TRUE(refused(kHuge, {.rows = 1, .bytes = 2, .to_pitch = 2, .from_pitch = 2}));
  EXPECT_EQ(content(*buffer), std::vector<std::byte>(50, kUntouched));
  EXPECT_EQ(to, std::vector<std::byte>(50, kUntouched));
}

TEST_P(Copies2d, MayHaveNoRowsOrNoBytes) {
  const auto buffer = filled(memory(), 50);
  EXPECT_TRUE(buffer->write_2d(50, nullptr, {}));
  EXPECT_TRUE(buffer->read_2d(nullptr, 50, {}));
  EXPECT_TRUE(buffer->write_2d(50, nullptr, {.rows = 1}));
  EXPECT_TRUE(buffer->write_2d(0, nullptr, {.rows = kHuge}));  // ends at once
  EXPECT_TRUE(buffer->read_2d(nullptr, 0, {.rows = kHuge}));
  EXPECT_EQ(content(*buffer), std::vector<std::byte>(50, kUntouched));
}

TEST_P(Copies2d, FillSetsOnlyItsRange) {
  constexpr std::size_t kSize = 150'000;  // more than two pieces
  const auto buffer = filled(memory(), kSize);
  ASSERT_TRUE(buffer->fill(1, kSize - 2, std::byte{5}));
  std::vector<std::byte> expected(kSize, std::byte{5});
  expected.front() = expected.back() = kUntouched;
  EXPECT_EQ(content(*buffer), expected);
  EXPECT_TRUE(buffer->fill(kSize, 0, std::byte{6}));
  EXPECT_FALSE(buffer->fill(kSize, 1, std::byte{6}));
  EXPECT_FALSE(buffer->fill(2, kHuge, std::byte{6}));
  EXPECT_EQ(content(*buffer), expected);
}

TEST(Copy, WorksBetweenBuffersOfAnyTwoTypes) {
  constexpr std::size_t kSize = 2'500'000;  // three pieces
  TestDevice one(TestDeviceConfig{});
  TestDevice other(TestDeviceConfig{.name = "test1"});
  const auto bytes = counting(kSize);
  for (BufferType* from_type : {&one.memory(), &host_memory()}) {
    for (BufferType* to_type : {&other.memory(), &host_memory()}) {
      const auto from = *from_type->allocate(kSize);
      const auto to = filled(*to_type, kSize + 20);
      ASSERT_TRUE(from->write(0, bytes));
      ASSERT_TRUE(copy({to.get(), 10}, {from.get(), 5}, kSize - 5));
      std::vector<std::byte> expected(kSize + 20, kUntouched);
      std::memcpy(expected.data() + 10, bytes.data() + 5, kSize - 5);
      EXPECT_EQ(content(*to), expected);
    }
  }
}

TEST(Copy, WithinABufferMayOverlap) {
  constexpr std::size_t kSize = 2'500'000;
  TestDevice device(TestDeviceConfig{});
  for (BufferType* type : {&device.memory(), &host_memory()}) {
    for (const auto& [to, from] : {std::pair{100, 0}, {0, 100}}) {
      const auto buffer = *type->allocate(kSize);
      auto expected = counting(kSize);
      ASSERT_TRUE(buffer->write(0, expected));
      ASSERT_TRUE(copy({buffer.get(), static_cast<std::size_t>(to)},
                       {buffer.get(), static_cast<std::size_t>(from)}, kSize - 100));
      std::memmove(expected.data() + to, expected.data() + from, kSize - 100);
      EXPECT_EQ(content(*buffer), expected);
    }
  }
}

/// Different buffers, one memory: as memmove() does, in both directions.
TEST(Copy, BetweenBuffersOverTheSameBytesMayOverlap) {
  for (const auto& [to, from] : {std::pair(0, 3), std::pair(3, 0), std::pair(5, 5)}) {
    std::vector<std::byte> memory = counting(100);
    std::vector<std::byte> expected = memory;
    std::memmove(expected.data() + to, memory.data() + from, 90);
    const auto target =
        wrap_host_memory(std::span(memory).subspan(static_cast<std::size_t>(to)), nullptr);
    const auto source = wrap_read_only_memory(memory, nullptr);
    ASSERT_TRUE(copy({target.get(), 0}, {source.get(), static_cast<std::size_t>(from)}, 90));
    EXPECT_EQ(memory, expected) << from << " to " << to;
  }
  // Over a buffer of host memory.
  const auto owner = *host_memory().allocate(1000);
  ASSERT_TRUE(owner->write(0, counting(1000)));
  const auto view = wrap_host_memory({owner->host_data(), 1000}, nullptr);
  ASSERT_TRUE(copy({owner.get(), 1}, {view.get(), 0}, 999));
  std::vector<std::byte> expected = counting(1000);
  std::memmove(expected.data() + 1, expected.data(), 999);
  EXPECT_EQ(content(*owner), expected);
}

TEST(Copy, OutsideABufferOrIntoReadOnlyMemoryIsAnError) {
  TestDevice device(TestDeviceConfig{});
  const auto host = filled(host_memory(), 10);
  const auto remote = filled(device.memory(), 10);
  const auto expect_error = [](const Status& status, ErrorCode code) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), code) << status.error().message();
  };
  const ErrorCode invalid = ErrorCode::kInvalidArgument;
  expect_error(copy({remote.get(), 1}, {host.get(), 0}, 10), invalid);
  expect_error(copy({remote.get(), 0}, {host.get(), 1}, 10), invalid);
  expect_error(copy({host.get(), kHuge}, {remote.get(), 0}, 2), invalid);
  EXPECT_TRUE(copy({host.get(), 10}, {remote.get(), 10}, 0));
  const auto bytes = counting(10);
  const auto read_only = wrap_read_only_memory(bytes, nullptr);
  expect_error(copy({read_only.get(), 0}, {remote.get(), 0}, 10), invalid);
  expect_error(copy({read_only.get(), 0}, {host.get(), 0}, 10), invalid);
  EXPECT_EQ(bytes, counting(10));
  device.fail_at({.copy = 1});
  expect_error(copy({host.get(), 0}, {remote.get(), 0}, 10), ErrorCode::kDevice);
}

/// A stream reads back the rows that it wrote, and its events signal both.
void check_stream(Stream& stream, BufferType& memory) {
  const auto buffer = filled(memory, 64);
  const auto from = counting(20);
  std::vector<std::byte> to(64, kUntouched);
  const auto written = *stream.create_event();
  const auto read = *stream.create_event();
  ASSERT_TRUE(stream.write_2d({buffer.get(), 7}, from.data(), kRows, {}, written.get()));
  const std::array<Event*, 1> waits = {written.get()};
  const CopyShape back = {.rows = 5, .bytes = 3, .to_pitch = 11, .from_pitch = 10};
  ASSERT_TRUE(stream.read_2d(to.data(), {buffer.get(), 7}, back, waits, read.get()));
  ASSERT_TRUE(read->wait());
  std::vector<std::byte> plain(64);
  copy_bytes(plain, 7, from, 0, kRows);
  std::vector<std::byte> expected(64, kUntouched);
  copy_bytes(expected, 0, plain, 7, back);
  EXPECT_EQ(to, expected);
  ASSERT_TRUE(stream.write_2d({buffer.get(), 0}, nullptr, {}, {}, written.get()));
  EXPECT_TRUE(written->wait());
  ASSERT_TRUE(stream.write_2d({buffer.get(), 0}, nullptr, {.rows = kHuge}, {}, written.get()));
  EXPECT_TRUE(written->wait());
  ASSERT_TRUE(stream.read_2d(nullptr, {buffer.get(), 0}, {.rows = kHuge}, {}, written.get()));
  EXPECT_TRUE(written->wait());
}

/// An error of a 2-D copy is that of its event, and of all later work, until synchronize().
void check_stream_errors(Device& device) {
  const auto stream = *device.open_stream();
  const auto buffer = filled(device.memory(), 40);
  const auto from = counting(20);
  std::vector<std::byte> to(64, kUntouched);
  const auto done = *stream->create_event();
  EXPECT_FALSE(stream->write_2d({buffer.get(), 0}, from.data(), kRows, {}, done.get()));
  const Status late = done->wait();
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr("5 rows of 3 bytes at 0, 10 bytes apart"));
  EXPECT_FALSE(stream->read_2d(to.data(), {buffer.get(), 0}, {1, 3, 3, 3}, {}, done.get()));
  EXPECT_FALSE(done->wait());
  EXPECT_TRUE(stream->synchronize());
  EXPECT_EQ(content(*buffer), std::vector<std::byte>(40, kUntouched));
  EXPECT_TRUE(stream->read_2d(to.data(), {buffer.get(), 0}, {1, 3, 3, 3}, {}, done.get()));
  EXPECT_TRUE(done->wait());
}

TEST(StreamCopies2d, OnASynchronousDevice) {
  TestDevice device(TestDeviceConfig{});
  check_stream(**device.open_stream(), device.memory());
  check_stream_errors(device);
}

TEST(StreamCopies2d, OnAnAsynchronousAcceleratorWithTwoQueues) {
  TestAccelerator device(TestAcceleratorConfig{});
  check_stream(**device.open_stream(), device.memory());
  check_stream_errors(device);
}

TEST(StreamCopies2d, OnADeviceWithASimulatedClock) {
  TestWorld world;
  TestDevice device(TestDeviceConfig{.world = &world});
  check_stream(**device.open_stream(), device.memory());
}

/// A stream of a device, without 2-D copies of its own. Notes the events of each copy.
class WithoutRows final : public Stream {
 public:
  explicit WithoutRows(Device& device) : inner_(*device.open_stream()) {}
  Result<std::unique_ptr<Event>> create_event() override { return inner_->create_event(); }
  Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
             Event* signal) override {
    return inner_->run(binding, args, waits, signal);
  }
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override {
    note(waits, signal);
    return inner_->write(to, from, waits, signal);
  }
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override {
    note(waits, signal);
    return inner_->read(to, from, waits, signal);
  }
  Status synchronize() override { return inner_->synchronize(); }

  std::vector<std::pair<std::size_t, bool>> copies;  ///< events it waits for; whether it signals

 private:
  void note(std::span<Event* const> waits, const Event* signal) {
    copies.emplace_back(waits.size(), signal != nullptr);
  }
  std::unique_ptr<Stream> inner_;
};

TEST(StreamCopies2d, DefaultImplementationCopiesRowByRow) {
  for (const bool asynchronous : {false, true}) {
    TestWorld world;
    TestDevice device(TestDeviceConfig{.world = asynchronous ? &world : nullptr});
    WithoutRows stream(device);
    check_stream(stream, device.memory());
    // The first row waits and the last one signals. Nothing is copied at once.
    const std::vector<std::pair<std::size_t, bool>> expected = {
        {0, false}, {0, false}, {0, false}, {0, false}, {0, true},  // written
        {1, false}, {0, false}, {0, false}, {0, false}, {0, true},  // read
        {0, true},  {0, true},  {0, true}};                         // no rows, or no bytes
    EXPECT_EQ(stream.copies, expected);
    EXPECT_EQ(device.copies(), expected.size());
  }
}

/// No row is submitted after one that was refused, and the event has that error.
TEST(StreamCopies2d, DefaultImplementationStopsAtTheFirstFailedRow) {
  TestDevice device(TestDeviceConfig{});
  WithoutRows stream(device);
  const auto buffer = filled(device.memory(), 64);
  const auto from = counting(20);
  std::vector<std::byte> to(64, kUntouched);
  const auto done = *stream.create_event();
  for (const bool write : {true, false}) {
    device.fail_at({.copy = 3});
    stream.copies.clear();
    const Status status =
        write ? stream.write_2d({buffer.get(), 0}, from.data(), kRows, {}, done.get())
              : stream.read_2d(to.data(), {buffer.get(), 0}, kRows, {}, done.get());
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), HasSubstr("the copy failed"));
    EXPECT_EQ(stream.copies.size(), 3U + 1) << "and one of nothing, which signals";
    const Status late = done->wait();
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().message(), status.error().message());
    EXPECT_TRUE(stream.synchronize());
  }
}

TEST(StreamCopies2d, DefaultImplementationRejectsRowsOutsideTheBuffer) {
  TestDevice device(TestDeviceConfig{});
  WithoutRows stream(device);
  const auto buffer = filled(device.memory(), 50);
  const auto from = counting(20);
  std::vector<std::byte> to(64, kUntouched);
  const CopyShape back = {.rows = 5, .bytes = 3, .to_pitch = 3, .from_pitch = 10};
  const Status written = stream.write_2d({buffer.get(), 8}, from.data(), kRows, {}, nullptr);
  const Status read = stream.read_2d(to.data(), {buffer.get(), 8}, back, {}, nullptr);
  for (const Status& status : {written, read}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(stream.copies.empty());
  EXPECT_EQ(content(*buffer), std::vector<std::byte>(50, kUntouched));
  EXPECT_TRUE(stream.write_2d({buffer.get(), 7}, from.data(), kRows, {}, nullptr));
  EXPECT_TRUE(stream.read_2d(to.data(), {buffer.get(), 7}, back, {}, nullptr));
}

TEST(StreamCopies2d, BetweenDevicesThatCopyDirectly) {
  TestWorld world;
  TestDevice one(TestDeviceConfig{.copies_directly = true, .world = &world});
  TestDevice other(TestDeviceConfig{.name = "test1", .copies_directly = true, .world = &world});
  const auto stream = *other.open_stream();
  const auto from = *one.memory().allocate(20);
  const auto to = filled(other.memory(), 43);
  const auto bytes = counting(20);
  ASSERT_TRUE(from->write(0, bytes));
  const auto done = *stream->create_event();
  ASSERT_TRUE(stream->copy_2d({to.get(), 0}, {from.get(), 1}, kRows, {}, done.get()));
  ASSERT_TRUE(done->wait());
  std::vector<std::byte> expected(43, kUntouched);
  copy_bytes(expected, 0, bytes, 1, kRows);
  EXPECT_EQ(content(*to), expected);
  EXPECT_FALSE(stream->copy_2d({to.get(), 1}, {from.get(), 1}, kRows, {}, done.get()));
  EXPECT_FALSE(stream->copy_2d({to.get(), 0}, {from.get(), 2}, kRows, {}, done.get()));
}

}  // namespace
}  // namespace shunt::test::device_copies_test
