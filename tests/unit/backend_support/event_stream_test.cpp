// Late errors: a vendor's stream continues after a failed task, and its events complete without an
// error. Events of an EventStream have the error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <vector>

#include "device/sync_stream.h"
#include "support/all_orders.h"
#include "unit/backend_support/event_streams.h"

namespace shunt::test::event_streams {
namespace {

using ::testing::HasSubstr;

TEST(EventStream, LateErrorFailsEveryLaterEventOfTheStream) {
  FakeBinding n0("n0"), n1("n1"), n2("n2"), n3("n3");
  TestWorld world;
  FakeDevice device("a0");
  FakeStream a(world, device);
  std::array<std::unique_ptr<Event>, 4> events = {a.event(), a.event(), a.event(), a.event()};
  n1.code = kAccess;
  n2.code = kTimeout;
  std::size_t i = 0;
  for (FakeBinding* each : {&n0, &n1, &n2, &n3}) {
    ASSERT_TRUE(a.run(*each, {}, events[i++].get()));
  }
  EXPECT_TRUE(events[0]->wait());
  expect_error(events[1]->wait(), kAccess, "a0", "n1");
  expect_error(events[2]->wait(), kAccess, "a0", "n1");
  expect_error(events[3]->wait(), kAccess, "a0", "n1");
  EXPECT_TRUE(events[0]->wait());
  EXPECT_EQ(n3.executed, 1);  // it was submitted by then
}

TEST(EventStream, ErrorWithoutATaskNamesAllUnconfirmedTasks) {
  for (const bool confirmed : {false, true}) {
    FakeBinding n0("n0"), n1("n1"), n2("n2");
    OneStream one;
    auto& [world, device, a, first, second, third] = one;
    device.tells_task = false;
    n1.code = kAccess;
    ASSERT_TRUE(a.run(n0, {}, first.get()));
    if (confirmed) {
      EXPECT_TRUE(first->wait());
    }
    ASSERT_TRUE(a.run(n1, {}, second.get()));
    ASSERT_TRUE(a.run(n2, {}, third.get()));
    expect_error(third->wait(), kAccess, "a0", confirmed ? "n1 to n2" : "n0 to n2");
    expect_error(second->wait(), kAccess, "a0", confirmed ? "n1 to n2" : "n0 to n2");
    EXPECT_EQ(first->wait().has_value(), confirmed);
  }
}

TEST(EventStream, ErrorReachesDependentWorkOnOtherStreamsAndDevices) {
  AllOrders orders;
  int count = 0;
  do {
    FakeBinding bad("bad"), m0("m0"), m1("m1"), m2("m2"), m3("m3");
    TestWorld world([&](std::size_t ready) { return orders.pick(ready); });
    FakeDevice device_a("a0"), device_b("b0");
    FakeStream a(world, device_a), a2(world, device_a), b(world, device_b), b2(world, device_b);
    const auto done_a = a.event();
    const auto done_a2 = a2.event();
    const auto before_b = b.event();
    const auto done_b = b.event();
    const auto done_b2 = b2.event();
    bad.code = kAccess;
    ASSERT_TRUE(b.run(m0, {}, before_b.get()));
    ASSERT_TRUE(a.run(bad, {}, done_a.get()));
    ASSERT_TRUE(a2.run(m1, {done_a.get()}, done_a2.get()));
    ASSERT_TRUE(b.run(m2, {done_a2.get()}, done_b.get()));
    ASSERT_TRUE(b2.run(m3, {before_b.get()}, done_b2.get()));
    EXPECT_TRUE(before_b->wait());
    EXPECT_TRUE(done_b2->wait());
    expect_error(done_b->wait(), kAccess, "a0", "bad");
    expect_error(done_a2->wait(), kAccess, "a0", "bad");
    // Work that waits for a known error is not submitted.
    const auto later = b.event();
    expect_error(b.run(m3, {}, later.get()), kAccess, "a0", "bad");
    expect_error(b2.run(m3, {done_b.get()}, later.get()), kAccess, "a0", "bad");
    expect_error(later->wait(), kAccess, "a0", "bad");
    EXPECT_EQ(m3.executed, 1);
    ++count;
  } while (orders.next() && !HasFailure());
  EXPECT_GT(count, 5);
}

TEST(EventStream, ReportsTheCauseAndNotItsConsequence) {
  FakeBinding cause("cause"), consequence("consequence"), last("last");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b), c(world, device_b);
  const auto done_a = a.event();
  const auto done_b = b.event();
  const auto done_c = c.event();
  cause.code = kAccess;
  consequence.code = kTimeout;
  ASSERT_TRUE(a.run(cause, {}, done_a.get()));
  ASSERT_TRUE(b.run(consequence, {done_a.get()}, done_b.get()));
  ASSERT_TRUE(c.run(last, {done_b.get()}, done_c.get()));
  expect_error(done_c->wait(), kAccess, "a0", "cause");
  expect_error(done_b->wait(), kAccess, "a0", "cause");
}

TEST(EventStream, StreamsThatWaitForEachOtherKeepTheirOwnErrors) {
  FakeBinding n1("n1"), n2("n2"), n3("n3"), n4("n4");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b);
  const auto a1 = a.event(), a2 = a.event(), b1 = b.event(), b2 = b.event();
  n4.code = kAccess;
  ASSERT_TRUE(a.run(n1, {}, a1.get()));
  ASSERT_TRUE(b.run(n2, {a1.get()}, b1.get()));
  ASSERT_TRUE(a.run(n3, {b1.get()}, a2.get()));
  ASSERT_TRUE(b.run(n4, {a2.get()}, b2.get()));
  EXPECT_TRUE(a1->wait());
  EXPECT_TRUE(b1->wait());
  EXPECT_TRUE(a2->wait());
  expect_error(b2->wait(), kAccess, "b0", "n4");
  EXPECT_TRUE(a2->wait());
}

TEST(EventStream, EventReportsOnlyErrorsBeforeIt) {
  FakeBinding n1("n1"), n2("n2"), n3("n3");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b);
  const auto a1 = a.event(), b1 = b.event(), b2 = b.event();
  n3.code = kAccess;
  ASSERT_TRUE(b.run(n1, {}, b1.get()));
  ASSERT_TRUE(a.run(n2, {b1.get()}, a1.get()));
  ASSERT_TRUE(b.run(n3, {a1.get()}, b2.get()));
  EXPECT_TRUE(a1->wait());
  expect_error(b2->wait(), kAccess, "b0", "n3");
}

TEST(EventStream, HostWaitsForEventsOfAnotherVendor) {
  FakeBinding n1("n1"), n2("n2"), n3("n3");
  TestWorld world, other_world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(other_world, device_b);
  const auto done_a = a.event();
  const auto done_b = b.event();
  ASSERT_TRUE(a.run(n1, {}, done_a.get()));
  ASSERT_TRUE(b.run(n2, {done_a.get()}, done_b.get()));
  EXPECT_EQ(n1.executed, 1);
  EXPECT_TRUE(done_b->wait());
  n1.code = kAccess;
  ASSERT_TRUE(a.run(n1, {}, done_a.get()));
  expect_error(b.run(n2, {done_a.get()}, done_b.get()), kAccess, "a0", "n1");
  expect_error(done_b->wait(), kAccess, "a0", "n1");
  EXPECT_EQ(n2.executed, 1);

  SyncEvent host;
  host.signal(fail(ErrorCode::kDevice, "cpu0 is too hot").with_vendor({kTimeout, "hot"}));
  ASSERT_TRUE(b.stream->synchronize());
  const Status refused = b.run(n3, {&host}, done_b.get());
  expect_error(refused, kTimeout, "", "");  // it is not b0 that failed
  expect_error(done_b->wait(), kTimeout, "", "");
}

TEST(EventStream, AfterSynchronizeNewWorkStartsWithoutTheError) {
  FakeBinding bad("bad"), good("good");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b);
  const auto old_a = a.event();
  const auto old_b = b.event();
  const auto new_a = a.event();
  const auto new_b = b.event();
  bad.code = kAccess;
  ASSERT_TRUE(a.run(bad, {}, old_a.get()));
  ASSERT_TRUE(b.run(good, {old_a.get()}, old_b.get()));
  EXPECT_TRUE(a.stream->synchronize());
  EXPECT_TRUE(a.run(good, {}, new_a.get()));
  EXPECT_TRUE(new_a->wait());
  // The work of b still depends on it, and so does its new work.
  expect_error(b.run(good, {new_a.get()}, new_b.get()), kAccess, "a0", "bad");
  EXPECT_TRUE(b.stream->synchronize());
  EXPECT_TRUE(b.run(good, {new_a.get()}, new_b.get()));
  EXPECT_TRUE(new_b->wait());
  // The results that were absent are still absent.
  expect_error(old_a->wait(), kAccess, "a0", "bad");
  expect_error(old_b->wait(), kAccess, "a0", "bad");
  expect_error(b.run(good, {old_b.get()}, new_b.get()), kAccess, "a0", "bad");
  EXPECT_TRUE(b.stream->synchronize());
  bad.code = 0;
  EXPECT_TRUE(a.run(bad, {}, old_a.get()));
  EXPECT_TRUE(old_a->wait());
}

TEST(EventStream, SynchronizingTheWaitingStreamKeepsTheErrorOfTheOther) {
  for (const bool waits_first : {true, false}) {
    FakeBinding bad("bad"), good("good"), last("last");
    TestWorld world;
    FakeDevice device_a("a0"), device_b("b0"), device_c("c0");
    FakeStream a(world, device_a), b(world, device_b), c(world, device_c);
    const auto done_a = a.event();
    const auto done_b = b.event();
    const auto done_c = c.event();
    bad.code = kAccess;
    ASSERT_TRUE(a.run(bad, {}, done_a.get()));
    ASSERT_TRUE(b.run(good, {done_a.get()}, done_b.get()));
    EXPECT_TRUE(b.stream->synchronize());
    if (waits_first) expect_error(done_b->wait(), kAccess, "a0", "bad");
    expect_error(c.run(last, {done_b.get()}, done_c.get()), kAccess, "a0", "bad");
    expect_error(b.run(last, {done_b.get()}, nullptr), kAccess, "a0", "bad");
    expect_error(done_b->wait(), kAccess, "a0", "bad");
    EXPECT_EQ(last.executed, 0);
  }
}

TEST(EventStream, WaitErrorIsReportedIfALaterTaskWasCancelled) {
  FakeBinding n1("n1"), n2("n2");
  OneStream one;
  auto& [world, device, a, first, second, third] = one;
  const std::atomic<bool> cancel = true;
  ASSERT_TRUE(a.run(n1, {}, first.get()));
  EXPECT_FALSE(a.run(n2, {}, second.get(), &cancel));
  device.waits_fail = true;
  expect_error(first->wait(), kAccess, "a0", "n1");
  expect_error(first->wait(), kAccess, "a0", "n1");
}

TEST(EventStream, WaitErrorDoesNotReplaceAnEarlierTaskError) {
  FakeBinding n1("n1"), refused("refused");
  OneStream one;
  auto& [world, device, a, first, second, third] = one;
  refused.refused = true;
  ASSERT_TRUE(a.run(n1, {}, first.get()));
  EXPECT_TRUE(first->wait());
  EXPECT_FALSE(a.run(refused, {}, second.get()));
  device.waits_fail = true;
  EXPECT_FALSE(a.stream->synchronize());  // the fake can't recover
  expect_error(second->wait(), kRefused, "a0", "refused");
  EXPECT_TRUE(first->wait());
}

TEST(EventStream, ThousandFailuresAreAllRemembered) {
  FakeBinding bad("bad"), good("good");
  OneStream one;
  FakeStream& a = one.a;
  std::vector<std::unique_ptr<Event>> failed;
  bad.code = kAccess;
  ASSERT_TRUE(a.run(bad, {}, one.second.get()));
  ASSERT_TRUE(a.stream->synchronize());
  ASSERT_TRUE(a.run(good, {}, one.third.get()));
  for (int i = 1; i < 1024; ++i) {
    failed.push_back(a.event());
    ASSERT_TRUE(a.run(bad, {}, failed.back().get()));
    ASSERT_TRUE(a.stream->synchronize());
  }
  ASSERT_TRUE(a.run(good, {}, one.first.get()));
  EXPECT_TRUE(one.first->wait());
  expect_error(one.second->wait(), kAccess, "a0", "bad");
  EXPECT_TRUE(one.third->wait());  // the task between the oldest failures
  // One more: the two oldest failures are merged, and the success of an event between them is no
  // longer used.
  failed.push_back(a.event());
  ASSERT_TRUE(a.run(bad, {}, failed.back().get()));
  ASSERT_TRUE(a.stream->synchronize());
  expect_error(one.second->wait(), kAccess, "a0", "bad");
  EXPECT_FALSE(one.third->wait());
  for (const auto& event : failed) expect_error(event->wait(), kAccess, "a0", "bad");
}

/// Of a task further back the error has no node.
TEST(EventStream, ErrorNamesTheNodeOfTheLast1024Tasks) {
  for (const int behind : {1023, 1024}) {
    FakeBinding bad("bad"), good("good");
    OneStream one;
    bad.code = kAccess;
    ASSERT_TRUE(one.a.run(bad, {}, nullptr));
    for (int i = 1; i < behind; ++i) ASSERT_TRUE(one.a.run(good, {}, nullptr));
    ASSERT_TRUE(one.a.run(good, {}, one.first.get()));
    expect_error(one.first->wait(), kAccess, "a0", behind == 1023 ? "bad" : "");
  }
}

TEST(EventStream, WorkRejectedByTheVendorFailsAtOnce) {
  FakeBinding bad("bad"), good("good");
  OneStream one;
  auto& [world, device, a, first, second, third] = one;
  bad.refused = true;
  expect_error(a.run(bad, {}, first.get()), kRefused, "a0", "bad");
  expect_error(a.run(good, {}, second.get()), kRefused, "a0", "bad");
  expect_error(first->wait(), kRefused, "a0", "bad");
  expect_error(second->wait(), kRefused, "a0", "bad");
  EXPECT_EQ(good.executed, 0);
}

TEST(EventStream, EarlierLateFailurePrecedesALaterRejection) {
  FakeBinding late("late"), refused("refused");
  OneStream one;
  auto& [world, device, a, first, second, third] = one;
  late.code = kAccess;
  refused.refused = true;
  ASSERT_TRUE(a.run(late, {}, first.get()));
  expect_error(a.run(refused, {}, second.get()), kRefused, "a0", "refused");
  expect_error(first->wait(), kAccess, "a0", "late");
  expect_error(second->wait(), kAccess, "a0", "late");
}

TEST(EventStream, SignalingAnEventTwiceIsAnError) {
  FakeBinding n1("n1"), n2("n2");
  TestWorld world;
  FakeDevice device("a0");
  FakeStream a(world, device), a2(world, device);
  const auto done = a.event();
  const auto after = a.event();
  ASSERT_TRUE(a.run(n1, {}, done.get()));
  // Work behind it fails as well, with the same facts.
  const Status of_signal = a2.run(n2, {}, done.get());
  const Status of_event = done->wait();
  const Status of_next = a2.run(n2, {}, after.get());
  for (const Status& twice : {of_signal, of_event, of_next, after->wait()}) {
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(twice.error().message(),
              "task 1 on a0 signals the event of task 1, which nothing has waited for");
  }
  EXPECT_EQ(n2.executed, 0);
  EXPECT_TRUE(a2.stream->synchronize());
  EXPECT_TRUE(a2.run(n2, {}, done.get()));
  EXPECT_TRUE(done->wait());
}

TEST(EventStream, EventMayBeSignaledAgainAfterAWait) {
  FakeBinding n1("n1"), n2("n2");
  TestWorld world;
  FakeDevice device("a0");
  FakeStream a(world, device), a2(world, device);
  const auto event = a.event();
  const auto other = a2.event();
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(a.run(n1, {}, event.get()));
    EXPECT_TRUE(event->wait());
    ASSERT_TRUE(a.run(n1, {}, event.get()));
    ASSERT_TRUE(a2.run(n2, {event.get()}, other.get()));
    ASSERT_TRUE(a.run(n1, {other.get()}, event.get()));
    EXPECT_TRUE(event->wait());
    ASSERT_TRUE(a.run(n1, {}, event.get()));
    EXPECT_TRUE(a.stream->synchronize());
  }
}

TEST(EventStream, SignalingAnEventOfAnotherDeviceIsAnError) {
  FakeBinding n1("n1");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b);
  const auto of_b = b.event();
  SyncEvent of_host;
  for (Event* event : {static_cast<Event*>(of_b.get()), static_cast<Event*>(&of_host)}) {
    const Status refused = a.run(n1, {}, event);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message(), HasSubstr("on a0 signals an event of another device"));
    EXPECT_EQ(n1.executed, 0);
    EXPECT_TRUE(event->wait());
    EXPECT_TRUE(a.stream->synchronize());
  }
}

TEST(EventStream, WaitForAnUnsignaledEventReturnsAtOnce) {
  FakeBinding n1("n1");
  TestWorld world;
  FakeDevice device("a0");
  FakeStream a(world, device), a2(world, device);
  const auto never = a.event();
  const auto done = a2.event();
  EXPECT_TRUE(never->wait());
  ASSERT_TRUE(a2.run(n1, {never.get()}, done.get()));
  EXPECT_TRUE(done->wait());
  EXPECT_EQ(n1.executed, 1);
}

TEST(EventStream, CancelSkipsTheTaskAndLaterOnes) {
  FakeBinding n1("n1"), n2("n2");
  OneStream one;
  auto& [world, device, a, first, second, third] = one;
  std::atomic<bool> cancel{false};
  ASSERT_TRUE(a.run(n1, {}, first.get(), &cancel));
  cancel = true;
  const Status cancelled = a.run(n2, {}, second.get(), &cancel);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(cancelled.error().device(), "");  // no device failed
  cancel = false;
  const Status later = a.run(n2, {}, third.get(), &cancel);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(first->wait());
  EXPECT_FALSE(second->wait());
  EXPECT_EQ(n1.executed, 1);
  EXPECT_EQ(n2.executed, 0);
  EXPECT_TRUE(a.stream->synchronize());
  EXPECT_TRUE(a.run(n2, {}, third.get(), &cancel));
  EXPECT_TRUE(third->wait());
}

TEST(EventStream, TimedEventsExcludeTheTimeOfWaits) {
  FakeBinding n1("n1");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0");
  FakeStream a(world, device_a), b(world, device_b);
  const auto written = a.event();
  const auto timed = std::move(*b.stream->create_timed_event());
  EXPECT_FALSE(timed->times());
  ASSERT_TRUE(a.stream->write({}, {}, {}, written.get()));  // 2 seconds
  Event* const waits[] = {written.get()};
  ASSERT_TRUE(b.stream->run(n1, {b.dynamic_dims}, waits, timed.get()));  // 1 second
  EXPECT_TRUE(timed->wait());
  const auto times = timed->times();
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->begin, 2);
  EXPECT_DOUBLE_EQ(times->end, 3);
  EXPECT_FALSE(written->times());
  n1.refused = true;
  EXPECT_FALSE(b.run(n1, {}, timed.get()));
  EXPECT_FALSE(timed->times());
}

TEST(EventStream, DeviceCopiesAreUnsupportedByDefault) {
  OneStream one;
  const Status copied = one.a.stream->copy({}, {}, 0, {}, nullptr);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace shunt::test::event_streams
