// Streams on queues with threads of their own: errors reach every thread that waits.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "backend_support/event_stream.h"
#include "shunt/message.h"
#include "support/fake_binding.h"
#include "support/thread_native.h"

namespace shunt::test::backend_support_event_stream_threads_test {
namespace {

/// A queue with a thread of its own.
class ThreadedNative final : public ThreadNativeStream {
 public:
  ~ThreadedNative() override { stop(); }
  Status run(std::uint64_t task, Binding& binding, const RunArgs&) override {
    auto& fake = static_cast<FakeBinding&>(binding);
    submit(task, 0, [&fake] { return fake.launch(); });
    return ok();
  }
  Status write(std::uint64_t, Address, std::span<const std::byte>) override { return ok(); }
  Status read(std::uint64_t, std::span<std::byte>, Address) override { return ok(); }
  std::string nodes_of(const Binding& binding) const override {
    return static_cast<const FakeBinding&>(binding).node;
  }
};

std::unique_ptr<EventStream> threaded(const std::shared_ptr<DeviceHealth>& health,
                                      ThreadNativeStream** native = nullptr) {
  auto owned = std::make_unique<ThreadedNative>();
  if (native != nullptr) *native = owned.get();
  return std::move(*EventStream::create(std::move(owned), health));
}

TEST(EventStreamThreads, ErrorsReachEveryThreadThatWaits) {
  FakeBinding first("first"), second("second");
  const auto health_a = std::make_shared<DeviceHealth>("a0");
  const auto health_b = std::make_shared<DeviceHealth>("b0");
  const auto a = threaded(health_a);
  const auto b = threaded(health_b);
  const DynamicDimValues dynamic_dims = {};
  const auto done_a = std::move(*a->create_event());
  const auto done_b = std::move(*b->create_event());
  for (int run = 0; run < 50; ++run) {
    first.code = run % 2 == 1 ? kAccess : 0;
    Event* const waits[] = {done_a.get()};
    ASSERT_TRUE(a->run(first, {dynamic_dims}, {}, done_a.get()));
    // An error may be known by now, or not.
    const Status submitted = b->run(second, {dynamic_dims}, waits, done_b.get());
    EXPECT_TRUE(submitted || run % 2 == 1);
    std::array<Status, 4> ends;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      threads.emplace_back([&, i] { ends[i] = (i < 2 ? done_a : done_b)->wait(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& end : ends) {
      if (run % 2 == 0) {
        EXPECT_TRUE(end) << end.error().message();
      } else {
        expect_error(end, kAccess, "a0", "first");
      }
    }
    ASSERT_TRUE(a->synchronize());
    ASSERT_TRUE(b->synchronize());
  }
}

TEST(EventStreamThreads, TwoThreadsUseTwoStreamsOfADevice) {
  const auto health = std::make_shared<DeviceHealth>("a0");
  std::array<FakeBinding, 2> bindings = {FakeBinding("n0"), FakeBinding("n1")};
  bindings[1].code = kAccess;
  std::array<int, 2> failed = {0, 0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const auto stream = threaded(health);
      const DynamicDimValues dynamic_dims = {};
      const auto done = std::move(*stream->create_event());
      for (int run = 0; run < 100; ++run) {
        if (stream->run(bindings[i], {dynamic_dims}, {}, done.get()) && done->wait()) continue;
        ++failed[i];
        EXPECT_TRUE(stream->synchronize());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed[0], 0);
  EXPECT_EQ(failed[1], 100);
  EXPECT_TRUE(health->check());
}

TEST(EventStreamThreads, LossOfAWaitedForDeviceDoesNotHang) {
  FakeBinding n1("n1"), n2("n2");
  const auto health_a = std::make_shared<DeviceHealth>("a0");
  const auto health_b = std::make_shared<DeviceHealth>("b0");
  ThreadNativeStream* native = nullptr;
  const auto a = threaded(health_a, &native);
  const auto b = threaded(health_b);
  const DynamicDimValues dynamic_dims = {};
  const auto done_a = std::move(*a->create_event());
  const auto done_b = std::move(*b->create_event());
  Event* const waits[] = {done_a.get()};
  native->lose(fail(ErrorCode::kDevice, "fell off the bus").with_vendor({79, "gone"}));
  ASSERT_TRUE(a->run(n1, {dynamic_dims}, {}, done_a.get()));
  ASSERT_TRUE(b->run(n2, {dynamic_dims}, waits, done_b.get()));
  Status end;
  std::thread waiting([&] { end = done_b->wait(); });
  waiting.join();
  expect_loss(end);
  expect_loss(a->synchronize());
  EXPECT_FALSE(b->synchronize());
  EXPECT_TRUE(health_b->check());
  EXPECT_EQ(n2.executed, 0);
}

}  // namespace
}  // namespace shunt::test::backend_support_event_stream_threads_test
