// Devices that are lost, or do not end their work in time: streams and submissions that wait for
// them fail, and the device that is lost is the one with unfinished work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/backend_support/event_streams.h"

namespace shunt::test::event_streams {
namespace {

using ::testing::HasSubstr;

TEST(EventStream, LostDeviceFailsAllLaterCalls) {
  FakeBinding bad("bad"), good("good");
  TestWorld world;
  FakeDevice device("a0"), other("b0");
  FakeStream a(world, device), a2(world, device), b(world, other);
  const auto fine = a2.event();
  const auto first = a.event();
  const auto second = a2.event();
  ASSERT_TRUE(a2.run(good, {}, fine.get()));
  EXPECT_TRUE(fine->wait());
  device.lost = true;
  bad.code = kAccess;
  ASSERT_TRUE(a.run(bad, {}, first.get()));
  expect_error(first->wait(), kAccess, "a0", "bad");
  bad.code = 0;
  device.lost = false;  // the library forgets
  for (int i = 0; i < 2; ++i) {
    expect_error(a.stream->synchronize(), kAccess, "a0", "bad");
    expect_error(a.run(good, {}, first.get()), kAccess, "a0", "bad");
    expect_error(a2.run(good, {}, second.get()), kAccess, "a0", "bad");
    expect_error(a2.stream->synchronize(), kAccess, "a0", "bad");
    expect_error(second->wait(), kAccess, "a0", "bad");
  }
  const auto another =
      EventStream::create(std::make_unique<FakeNative>(world, device), device.health);
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message(), HasSubstr("the device is lost"));
  EXPECT_TRUE(fine->wait());
  const auto done = b.event();
  EXPECT_TRUE(b.run(good, {}, done.get()));
  EXPECT_TRUE(done->wait());
}

TEST(EventStream, CallsForADeviceMayBlockIfItsVendorSaysSo) {
  for (const bool hung : {false, true}) {
    FakeBinding n1("n1");
    TestWorld world;
    FakeDevice device("a0");
    FakeStream a(world, device);
    const auto done = a.event();
    ASSERT_TRUE(a.run(n1, {}, done.get()));
    a.native->get_stuck(hung);
    EXPECT_FALSE(done->wait());
    EXPECT_TRUE(device.health->is_lost());
    EXPECT_EQ(device.health->is_hung(), hung);
  }
}

TEST(EventStream, DeviceThatCannotRecoverIsLost) {
  FakeBinding n1("n1");
  OneStream one;
  auto& [world, device, a, done, second, third] = one;
  ASSERT_TRUE(a.run(n1, {}, done.get()));
  device.waits_fail = true;
  expect_error(done->wait(), kAccess, "a0", "n1");  // the wait's own error, as there is no other
  const Status lost = a.stream->synchronize();
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message(), HasSubstr("no way back"));
  EXPECT_EQ(lost.error().device(), "a0");
  EXPECT_FALSE(device.health->check());
}

TEST(EventStream, WaitForALostDeviceFailsInsteadOfHanging) {
  FakeBinding n1("n1"), n2("n2"), n3("n3");
  TestWorld world;
  FakeDevice device_a("a0"), device_b("b0"), device_c("c0");
  const auto a = std::make_unique<FakeStream>(world, device_a);
  auto b = std::make_unique<FakeStream>(world, device_b);
  auto c = std::make_unique<FakeStream>(world, device_c);
  const auto done_a = a->event();
  const auto done_b = b->event();
  const auto done_c = c->event();
  ASSERT_TRUE(a->run(n1, {}, done_a.get()));
  ASSERT_TRUE(b->run(n2, {done_a.get()}, done_b.get()));
  ASSERT_TRUE(c->run(n3, {done_b.get()}, done_c.get()));
  a->native->get_stuck();
  expect_loss(done_c->wait());
  expect_loss(done_b->wait());
  expect_loss(done_a->wait());
  expect_loss(c->run(n3, {}, done_c.get()));
  expect_loss(b->stream->synchronize());
  expect_loss(a->stream->synchronize());
  EXPECT_TRUE(device_b.health->check());
  EXPECT_EQ(n2.executed + n3.executed, 0);
  b.reset();
  c.reset();
  expect_loss(done_b->wait());
}

void expect_timeout(const Status& status, std::string_view device) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kDevice);
  EXPECT_EQ(status.error().device(), device);
  EXPECT_THAT(status.error().message(), HasSubstr("a task did not end within 0.1 s"));
}

TEST(EventStream, ADeviceThatDoesNotEndATaskInTimeIsLost) {
  FakeBinding n1("n1");
  TestWorld world;
  FakeDevice device("a0", std::chrono::milliseconds(100));
  FakeStream a(world, device);
  const auto done = a.event();
  a.native->stop_working();
  ASSERT_TRUE(a.run(n1, {}, done.get()));
  expect_timeout(done->wait(), "a0");
  expect_timeout(a.run(n1, {}, done.get()), "a0");
  expect_timeout(a.stream->synchronize(), "a0");
}

TEST(EventStream, TheTimeoutHitsTheDeviceWithUnfinishedWork) {
  FakeBinding n1("n1"), n2("n2");
  TestWorld world;
  FakeDevice device_a("a0", std::chrono::milliseconds(100));
  FakeDevice device_b("b0", std::chrono::milliseconds(100));
  auto a = std::make_unique<FakeStream>(world, device_a);
  auto b = std::make_unique<FakeStream>(world, device_b);
  const auto done_a = a->event();
  const auto done_b = b->event();
  ASSERT_TRUE(a->run(n1, {}, done_a.get()));
  ASSERT_TRUE(b->run(n2, {done_a.get()}, done_b.get()));
  a->native->stop_working();
  expect_timeout(done_b->wait(), "a0");
  EXPECT_TRUE(device_b.health->check());
  // Its work waits for a0 for ever, so nothing may wait for it when its memory is freed.
  b.reset();
  expect_timeout(device_b.health->check(), "a0");
  EXPECT_TRUE(device_b.health->is_hung());
}

/// A queue without room may be full of work that waits for another device.
TEST(EventStream, AFullQueueLosesTheDeviceThatItsWorkWaitsFor) {
  TestWorld world;
  for (const bool waits : {true, false}) {
    FakeBinding n1("n1"), n2("n2");
    FakeDevice device_a("a0", std::chrono::milliseconds(100));
    FakeDevice device_b("b0", std::chrono::milliseconds(100));
    FakeStream a(world, device_a), b(world, device_b);
    const auto done_a = a.event(), done_b = b.event();
    ASSERT_TRUE(a.run(n1, {}, done_a.get()));
    std::vector<Event*> awaited;
    if (waits) awaited.push_back(done_a.get());
    ASSERT_TRUE(b.stream->run(n2, {.dynamic_dims = {}}, awaited, done_b.get()));
    a.native->stop_working();
    b.native->full = true;
    const std::string lost = waits ? "a0" : "b0";
    expect_timeout(b.stream->write({}, {}, {}, nullptr), lost);
    EXPECT_EQ(device_a.health->is_lost(), waits);
    EXPECT_EQ(device_b.health->is_lost(), !waits);
  }
}

/// A submission that waits gives up once a device is lost that its stream waits for.
TEST(EventStream, AWaitingSubmissionEndsWithTheLossOfAnotherDevice) {
  FakeBinding n1("n1"), n2("n2");
  TestWorld world;
  FakeDevice device_a("a0", std::chrono::milliseconds(100));
  FakeDevice device_b("b0", std::chrono::milliseconds(100));
  FakeStream a(world, device_a), b(world, device_b);
  const auto done_a = a.event(), done_b = b.event();
  ASSERT_TRUE(a.run(n1, {}, done_a.get()));
  ASSERT_TRUE(b.run(n2, {done_a.get()}, done_b.get()));
  b.native->waiting = true;
  EXPECT_TRUE(b.stream->write({}, {}, {}, nullptr));
  a.native->stop_working();
  device_a.health->lose_hung();
  expect_timeout(b.stream->write({}, {}, {}, nullptr), "a0");
  EXPECT_TRUE(device_b.health->check());
}

TEST(EventStream, TheTimeoutSparesDevicesWhoseWorkIsDone) {
  FakeBinding n1("n1"), n2("n2");
  TestWorld world;
  FakeDevice device_a("a0", std::chrono::milliseconds(100));
  FakeDevice device_b("b0", std::chrono::milliseconds(100));
  auto a = std::make_unique<FakeStream>(world, device_a);
  auto b = std::make_unique<FakeStream>(world, device_b);
  const auto done_a = a->event();
  const auto done_b = b->event();
  ASSERT_TRUE(a->run(n1, {}, done_a.get()));
  a->native->busy = false;
  b->native->stop_working();
  ASSERT_TRUE(b->run(n2, {done_a.get()}, done_b.get()));
  expect_timeout(done_b->wait(), "b0");
  EXPECT_TRUE(device_a.health->check());
}

}  // namespace
}  // namespace shunt::test::event_streams
