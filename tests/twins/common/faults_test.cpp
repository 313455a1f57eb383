// Numbers of faults, and the events that fail by them; counters.
#include "common/faults.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "common/counters.h"

namespace {

// Which of the first five events fail.
std::vector<int> failing(const char* text) {
  std::int64_t fault = 0;
  EXPECT_TRUE(twin::parse_number(text, true, fault)) << text;
  twin::EventCount events;
  std::vector<int> failed;
  for (int event = 1; event <= 5; ++event)
    if (events.next_fails(fault)) failed.push_back(event);
  return failed;
}

TEST(TwinFaults, FailTheNthEventOrAllFromItOn) {
  EXPECT_EQ(failing("0"), std::vector<int>());
  EXPECT_EQ(failing("0+"), std::vector<int>());
  EXPECT_EQ(failing("1"), std::vector<int>({1}));
  EXPECT_EQ(failing("3"), std::vector<int>({3}));
  EXPECT_EQ(failing("3+"), std::vector<int>({3, 4, 5}));
  EXPECT_EQ(failing("1+"), std::vector<int>({1, 2, 3, 4, 5}));
  EXPECT_EQ(failing("6+"), std::vector<int>());
}

TEST(TwinFaults, RejectInvalidNumbers) {
  std::int64_t value = 0;
  for (const char* text : {"", "+", "+3", "3++", "3 +", "x", "-3", " 3"})
    EXPECT_FALSE(twin::parse_number(text, true, value)) << text;
  EXPECT_FALSE(twin::parse_number("3+", false, value));
}

TEST(TwinFaults, EventsAreCountedUntilARestart) {
  twin::EventCount events;
  EXPECT_FALSE(events.next_fails(0));  // counted, too
  EXPECT_TRUE(events.next_fails(2));
  events.restart();
  EXPECT_FALSE(events.next_fails(2));
  EXPECT_TRUE(events.next_fails(2));
}

TEST(TwinFaults, ThreadsShareOneFailure) {
  twin::EventCount events;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int event = 0; event < 1000; ++event) failures += events.next_fails(2500) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 1);
}

TEST(TwinCounters, CountAmountsFromThreads) {
  twin::Counters<2> counters;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int event = 0; event < 1000; ++event) {
        counters.add(0);
        counters.add(1, 64);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.value(0), 4000u);
  EXPECT_EQ(counters.value(1), 256000u);
  counters.reset();
  EXPECT_EQ(counters.value(0), 0u);
  EXPECT_EQ(counters.value(1), 0u);
}

TEST(TwinCounters, UnknownCounterIsZero) {
  twin::Counters<2> counters;
  counters.add(2);
  EXPECT_EQ(counters.value(2), 0u);
  EXPECT_EQ(counters.value(static_cast<std::size_t>(-1)), 0u);
}

}  // namespace
