// The times of events, compared with the host's clock.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "shunt/device.h"

namespace shunt::test {

/// Each write of a stream gives its timed event the times in which the host saw it, up to the
/// stated error.
inline void expect_times_of_the_host(Device& device) {
  constexpr std::size_t kBytes = 1 << 20;
  const auto stream = device.open_stream();
  ASSERT_TRUE(stream) << stream.error().message();
  const auto event = (*stream)->create_timed_event();
  ASSERT_TRUE(event) << event.error().message();
  const auto buffer = device.memory().allocate(kBytes);
  ASSERT_TRUE(buffer) << buffer.error().message();
  const std::vector<std::byte> bytes(kBytes);
  double last = 0;
  for (int i = 0; i < 3; ++i) {
    const double before = steady_seconds();
    ASSERT_TRUE((*stream)->write({buffer->get(), 0}, bytes, {}, event->get()));
    ASSERT_TRUE((*event)->wait());
    const double after = steady_seconds();
    const auto times = (*event)->times();
    ASSERT_TRUE(times.has_value());
    // An anchor is recorded in a stream without work. Other processes may delay that.
    EXPECT_GT(times->error, 0);
    EXPECT_LT(times->error, 1);
    EXPECT_GE(times->begin, before - times->error);
    EXPECT_LE(times->begin, times->end);
    EXPECT_LE(times->end, after + times->error);
    EXPECT_GT(times->begin, last) << "each time anew";
    last = times->begin;
  }
}

}  // namespace shunt::test
