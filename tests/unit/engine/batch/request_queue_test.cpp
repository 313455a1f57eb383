// The order in which waiting requests are taken.
#include "engine/batch/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace shunt::test::engine_request_queue_test {
namespace {

using ::testing::ElementsAre;

/// Takes the next `count`, which are fewer than the oldest one's turn.
std::vector<std::int64_t> take(RequestQueue& queue, int count) {
  std::vector<std::int64_t> taken;
  for (int i = 0; i < count; ++i) {
    taken.push_back(queue.next().value_or(-1));
    queue.take();
  }
  return taken;
}

TEST(RequestQueue, HigherPriorityGoesFirstThenOlderOnes) {
  RequestQueue queue;
  queue.add(1, {.priority = 0});
  queue.add(2, {.priority = 5});
  queue.add(3, {.priority = 5});
  queue.add(4, {.priority = -3});
  EXPECT_THAT(take(queue, 4), ElementsAre(2, 3, 1, 4));
  EXPECT_FALSE(queue.next());
}

TEST(RequestQueue, PrioritiesAtBothEndsOfTheirRange) {
  RequestQueue queue;
  queue.add(1, {.priority = std::numeric_limits<std::int64_t>::min()});
  queue.add(2, {.priority = 0});
  queue.add(3, {.priority = std::numeric_limits<std::int64_t>::max()});
  EXPECT_THAT(take(queue, 3), ElementsAre(3, 2, 1));
}

TEST(RequestQueue, ScopesOfAPriorityTakeTurns) {
  RequestQueue queue;
  for (std::int64_t i = 0; i < 4; ++i) queue.add(i, {.scope = "many"});
  queue.add(10, {.scope = "one"});
  EXPECT_THAT(take(queue, 5), ElementsAre(0, 10, 1, 2, 3));
}

TEST(RequestQueue, RemovedRequestIsNotTaken) {
  RequestQueue queue;
  queue.add(1, {});
  queue.add(2, {});
  EXPECT_TRUE(queue.remove(1));
  EXPECT_FALSE(queue.remove(1));
  EXPECT_THAT(take(queue, 1), ElementsAre(2));
  queue.take();  // of an empty queue
  EXPECT_EQ(queue.size(), 0);
}

TEST(RequestQueue, NextOneFollowsEachChange) {
  RequestQueue queue;
  queue.add(1, {});
  EXPECT_EQ(queue.next(), 1);
  queue.add(2, {.priority = 1});
  EXPECT_EQ(queue.next(), 2);
  queue.remove(2);
  EXPECT_EQ(queue.next(), 1);
  queue.remove(1);
  EXPECT_FALSE(queue.next());
}

TEST(RequestQueue, PausedRequestKeepsItsPlace) {
  RequestQueue queue;
  queue.add(1, {});
  queue.add(2, {});
  queue.take();
  queue.add(1, {});
  EXPECT_EQ(queue.next(), 1);
}

/// More important requests of ever new users arrive faster than requests are taken.
TEST(RequestQueue, NoRequestWaitsWithoutEnd) {
  RequestQueue queue;
  std::int64_t order = 0;
  constexpr std::int64_t kPoor = 20;
  for (; order < kPoor; ++order) queue.add(order, {.priority = -1000, .scope = "poor"});
  std::set<std::int64_t> poor;
  std::int64_t taken = 0;
  while (std::ssize(poor) < kPoor) {
    ASSERT_LT(taken, (kPoor + 1) * RequestQueue::kOldestEvery);
    for (int i = 0; i < 2; ++i, ++order)
      queue.add(order, {.priority = 1000, .scope = std::to_string(order)});
    if (*queue.next() < kPoor) poor.insert(*queue.next());
    queue.take();
    ++taken;
  }
}

TEST(RequestQueue, OneUserWithManyRequestsDoesNotDelayAnother) {
  RequestQueue queue;
  for (std::int64_t i = 0; i < 1000; ++i) queue.add(i, {.scope = "many"});
  for (std::int64_t next = 1000; next < 1010; ++next) {
    queue.add(next, {.scope = "one"});
    std::int64_t waited = 0;
    while (*queue.next() != next) {
      queue.take();
      ++waited;
    }
    EXPECT_LE(waited, 2);
    queue.take();
  }
}

TEST(RequestQueue, ScopesThatAreGoneAreForgotten) {
  RequestQueue queue;
  for (std::int64_t i = 0; i < 5000; ++i) {
    queue.add(i, {.scope = std::to_string(i)});
    queue.take();
  }
  EXPECT_EQ(queue.size(), 0);
}

}  // namespace
}  // namespace shunt::test::engine_request_queue_test
