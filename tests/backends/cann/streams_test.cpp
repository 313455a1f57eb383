// Streams and events of CANN devices. Events of the library tell nothing of failed tasks: the
// backend asks the streams.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "backends/cann/cann_devices.h"
#include "support/event_times.h"
#include "support/networks.h"
#include "support/sanitized.h"

namespace shunt::test::cann_streams_test {
namespace {

using testing::HasSubstr;

class CannStreams : public CannDevices {
 protected:
  std::unique_ptr<Stream> open_stream(std::string_view name = "cann0") const {
    auto stream = device(name).open_stream();
    EXPECT_TRUE(stream) << stream.error().message();
    return stream ? std::move(*stream) : nullptr;
  }
  std::unique_ptr<Buffer> allocate(std::size_t bytes) const {
    auto buffer = device().memory().allocate(bytes);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? std::move(*buffer) : nullptr;
  }
  std::unique_ptr<Buffer> allocate_pinned(std::size_t bytes) const {
    auto buffer = device().staging_memory()->allocate(bytes);
    EXPECT_TRUE(buffer) << buffer.error().message();
    return buffer ? std::move(*buffer) : nullptr;
  }
  /// The output of some runs, which have the same bits.
  std::vector<double> output_of(const Network& network, int runs = 3) const {
    const auto run = make_run(network.graph, network.leaves);
    std::vector<double> output;
    for (int i = 0; run != nullptr && i < runs; ++i) {
      EXPECT_EQ(error_of(run->plan().run()), "") << "run " << i;
      std::vector<double> again = (*run).output(network.graph->outputs()[0]).value().data;
      if (i > 0) {
        EXPECT_EQ(again, output) << "run " << i;
      }
      output = std::move(again);
    }
    return output;
  }
};

TEST_F(CannStreams, TimedEventsHaveTimesOfTheHostsClock) {
  expect_times_of_the_host(device());
}

TEST_F(CannStreams, OtherEventsHaveNoTimes) {
  const auto stream = open_stream();
  const auto event = *stream->create_event();
  const auto buffer = allocate(64);
  const std::vector<std::byte> bytes(64);
  ASSERT_TRUE(stream->write({buffer.get(), 0}, bytes, {}, event.get()));
  ASSERT_TRUE(event->wait());
  EXPECT_FALSE(event->times().has_value());
}

/// Times cost the device something, so that only those who ask for them pay for it.
TEST_F(CannStreams, RunsWithoutATraceAskForNoTimes) {
  (void)output_of(bert());
  EXPECT_EQ(twin_.calls("aclrtEventElapsedTime"), 0U);
}

/// A copy that fails on the device: its own event says so, those after it too, and after
/// synchronize() the stream works.
TEST_F(CannStreams, ALateErrorOfACopyComesWithItsEvent) {
  const auto stream = open_stream();
  const auto buffer = allocate(64);
  const auto pinned = allocate_pinned(64);
  const std::span<std::byte> bytes(pinned->host_data(), 64);
  const auto first = *stream->create_event(), second = *stream->create_event();
  ASSERT_TRUE(stream->synchronize());
  for (const bool reads : {false, true}) {
    twin_.set("FAIL_LATE", "1");
    const Status submitted = reads ? stream->read(bytes, {buffer.get(), 0}, {}, first.get())
                                   : stream->write({buffer.get(), 0}, bytes, {}, first.get());
    EXPECT_EQ(error_of(submitted), "");
    const Status next = stream->write({buffer.get(), 0}, bytes, {}, second.get());
    const Status failed = first->wait();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), ErrorCode::kDevice);
    EXPECT_EQ(failed.error().device(), "cann0");
    ASSERT_TRUE(failed.error().vendor().has_value());
    EXPECT_EQ(failed.error().vendor()->code, 507015);
    if (next) {
      EXPECT_FALSE(second->wait());
    }
    EXPECT_FALSE(stream->write({buffer.get(), 0}, bytes, {}, nullptr)) << "the error is known";
    EXPECT_EQ(error_of(stream->synchronize()), "");
    EXPECT_EQ(error_of(stream->write({buffer.get(), 0}, bytes, {}, first.get())), "");
    EXPECT_EQ(error_of(first->wait()), "");
  }
}

TEST_F(CannStreams, ALateErrorReachesTheStreamsThatWaitedForIt) {
  const auto one = open_stream(), other = open_stream();
  const auto buffer = allocate(64);
  const auto pinned = allocate_pinned(64);
  const std::span<std::byte> bytes(pinned->host_data(), 64);
  const auto written = *one->create_event(), read = *other->create_event();
  ASSERT_TRUE(one->synchronize());
  ASSERT_TRUE(other->synchronize());
  twin_.set("FAIL_LATE", "1");
  ASSERT_TRUE(one->write({buffer.get(), 0}, bytes, {}, written.get()));
  const std::array<Event*, 1> waits = {written.get()};
  const Status submitted = other->read(bytes, {buffer.get(), 0}, waits, read.get());
  if (submitted) {
    const Status failed = read->wait();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().vendor()->code, 507015);
  } else {
    EXPECT_EQ(submitted.error().vendor()->code, 507015);
  }
  EXPECT_FALSE(written->wait());
  EXPECT_EQ(error_of(one->synchronize()), "");
  EXPECT_EQ(error_of(other->synchronize()), "");
  ASSERT_TRUE(one->write({buffer.get(), 0}, bytes, {}, written.get()));
  ASSERT_TRUE(other->read(bytes, {buffer.get(), 0}, waits, read.get()));
  EXPECT_EQ(error_of(read->wait()), "");
}

TEST_F(CannStreams, ALateErrorOfARunLeavesTheNextOneAlone) {
  const Rows rows;
  const auto run = make_run(rows.graph, rows.leaves);
  ASSERT_TRUE(run->plan().run());
  const auto expected = run->output(rows.result)->data;
  int failed = 0;
  for (int n = 1; n < 100; ++n) {
    twin_.set("FAIL_LATE", std::to_string(n));
    const Status status = run->plan().run();
    twin_.set("FAIL_LATE", "0");
    if (status) break;
    ++failed;
    EXPECT_EQ(status.error().device(), "cann0");
    EXPECT_EQ(status.error().vendor()->code, 507015) << n;
    EXPECT_EQ(error_of(run->plan().run()), "") << n;
    EXPECT_EQ(run->output(rows.result)->data, expected) << n;
  }
  EXPECT_GT(failed, 2);
}

TEST_F(CannStreams, EachOrderAndCallbackGivesTheSameErrors) {
  for (const char* order : {"eager", "lazy", "2", "3"}) {
    for (const char* callback : {"before", "after", "never"}) {
      SCOPED_TRACE(std::string(order) + " " + callback);
      reopen({{"ORDER", order}, {"CALLBACK", callback}});
      const Rows rows;
      const auto run = make_run(rows.graph, rows.leaves);
      ASSERT_TRUE(run->plan().run());
      twin_.set("FAIL_LATE", "2");
      const Status status = run->plan().run();
      twin_.set("FAIL_LATE", "0");
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().vendor()->code, 507015);
      EXPECT_EQ(error_of(run->plan().run()), "");
    }
  }
}

TEST_F(CannStreams, ALostDeviceStaysLostAndFreesNothingTwice) {
  const Rows rows;
  auto run = make_run(rows.graph, rows.leaves);
  ASSERT_TRUE(run->plan().run());
  twin_.set("FAIL_LOST", "1");
  lost_ = true;
  const Status lost = run->plan().run();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().device(), "cann0");
  EXPECT_EQ(lost.error().vendor()->code, 507010);
  const Status again = run->plan().run();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().vendor()->code, 507010);
  const auto opened = device().open_stream();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), HasSubstr("the device is lost"));
  EXPECT_FALSE(device().memory().allocate(64));
  EXPECT_TRUE(device().supports(*rows.graph, rows.result).refused());
  EXPECT_EQ(device().memory_free(), 1U) << "none: 0 means that it is not known";
}

/// Codes that end a device.
TEST_F(CannStreams, SomeCodesOfTasksEndTheDevice) {
  for (const auto& [code, ends] :
       std::initializer_list<std::pair<const char*, bool>>{{"507015", false},
                                                           {"507035", false},
                                                           {"507014", false},
                                                           {"507001", true},
                                                           {"507033", true},
                                                           {"507053", true},
                                                           {"507054", true}}) {
    reopen({{"LATE_CODE", code}});
    const Rows rows;
    const auto run = make_run(rows.graph, rows.leaves);
    ASSERT_TRUE(run->plan().run());
    twin_.set("FAIL_LATE", "1");
    EXPECT_FALSE(run->plan().run()) << code;
    lost_ = ends;
    EXPECT_EQ(static_cast<bool>(run->plan().run()), !ends) << code;
  }
}

TEST_F(CannStreams, AnEventOutlivesItsStream) {
  std::unique_ptr<Event> event;
  const auto buffer = allocate(16);
  const std::vector<std::byte> bytes(16);
  {
    const auto stream = open_stream();
    event = std::move(*stream->create_event());
    ASSERT_TRUE(stream->write({buffer.get(), 0}, bytes, {}, event.get()));
  }
  EXPECT_EQ(error_of(event->wait()), "");
}

/// Rows with a pitch on each side cross in one call, and only their bytes.
TEST_F(CannStreams, RowsWithPitchesAreCopiedAtOnce) {
  constexpr std::size_t kRows = 5, kBytes = 24, kHostPitch = 40, kDevicePitch = 64;
  const auto stream = open_stream();
  const auto buffer = allocate(kRows * kDevicePitch);
  const auto pinned = allocate_pinned(kRows * kHostPitch);
  std::byte* const host = pinned->host_data();
  for (std::size_t i = 0; i < kRows * kHostPitch; ++i) host[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(buffer->fill(0, kRows * kDevicePitch, std::byte{0xEE}));
  const CopyShape to_device = {
      .rows = kRows, .bytes = kBytes, .to_pitch = kDevicePitch, .from_pitch = kHostPitch};
  const CopyShape to_host = {
      .rows = kRows, .bytes = kBytes, .to_pitch = kHostPitch, .from_pitch = kDevicePitch};
  ASSERT_TRUE(stream->write_2d({buffer.get(), 0}, host, to_device, {}, nullptr));
  ASSERT_TRUE(stream->synchronize());
  std::vector<std::byte> all(kRows * kDevicePitch);
  ASSERT_TRUE(buffer->read(0, all));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t row = i / kDevicePitch, column = i % kDevicePitch;
    ASSERT_EQ(all[i], column < kBytes ? static_cast<std::byte>(row * kHostPitch + column)
                                      : std::byte{0xEE});
  }
  std::fill_n(host, kRows * kHostPitch, std::byte{0x77});
  ASSERT_TRUE(stream->read_2d(host, {buffer.get(), 0}, to_host, {}, nullptr));
  ASSERT_TRUE(stream->synchronize());
  for (std::size_t i = 0; i < kRows * kHostPitch; ++i) {
    const std::size_t row = i / kHostPitch, column = i % kHostPitch;
    ASSERT_EQ(host[i], column < kBytes ? static_cast<std::byte>(row * kHostPitch + column)
                                       : std::byte{0x77});
  }
  EXPECT_EQ(twin_.calls("aclrtMemcpy2dAsync"), 2U);
}

TEST_F(CannStreams, ACancelledRunLeavesTheNextOneAlone) {
  const Rows rows;
  const auto run = make_run(rows.graph, rows.leaves);
  for (int i = 0; i < 4; ++i) {
    std::atomic<bool> cancel = true;
    const Status cancelled = run->plan().run(&cancel);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
    cancel = false;
    EXPECT_EQ(error_of(run->plan().run(&cancel)), "");
  }
}

TEST_F(CannStreams, ResultsHaveTheSameBitsInEachOrderOfWork) {
  for (Network (*make)() : {bert, gemma}) {
    reopen({{"ORDER", "eager"}});
    const Network network = make();
    const std::vector<double> expected = output_of(network);
    for (const char* order : {"lazy", "2", "3"}) {
      if (kSanitized && std::string_view(order) == "3") continue;
      reopen({{"ORDER", order}});
      EXPECT_EQ(output_of(network), expected) << order;
    }
  }
}

TEST_F(CannStreams, ResultsHaveTheSameBitsInBothLayouts) {
  const Network network = gemma();
  const std::vector<double> expected = output_of(network);
  Options options = twin_.options();
  options.libraries["cann"] = AscendTwin::folder_of(AscendTwin::Layout::kSplit);
  reopen({}, options);
  EXPECT_EQ(output_of(network), expected);
}

TEST_F(CannStreams, TwoRegistriesComputeSideBySide) {
  const Network network = bert();
  const std::vector<double> alone = output_of(network);
  auto other = Registry::create(twin_.options());
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_EQ(output_of(network), alone);
  std::swap(registry_, *other);
  EXPECT_EQ(output_of(network), alone);
  other->reset();
  EXPECT_EQ(output_of(network), alone) << "the other one has reset its device";
}

}  // namespace
}  // namespace shunt::test::cann_streams_test
