// Streams of simulated devices for tests of EventStream: their vendor's queues fail, fill up, hang
// or get lost on request.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "backend_support/event_stream.h"
#include "shunt/message.h"
#include "support/fake_binding.h"
#include "support/world_native.h"

namespace shunt::test::event_streams {

inline constexpr std::int64_t kTimeout = 702;
inline constexpr std::int64_t kRefused = 1;

struct FakeDevice {
  explicit FakeDevice(const std::string& name,
                      std::chrono::milliseconds timeout = DeviceHealth::kForever)
      : health(std::make_shared<DeviceHealth>(name, timeout)) {}
  std::shared_ptr<DeviceHealth> health;
  bool tells_task = true;
  bool lost = false;        ///< a failure is that of a lost device
  bool waits_fail = false;  ///< waiting for an event returns the error
};

class FakeEvent final : public NativeEvent {
 public:
  FakeEvent(FakeDevice& device, std::unique_ptr<NativeEvent> event)
      : inner(std::move(event)), device_(device) {}
  Result<bool> wait(std::chrono::milliseconds most) override {
    SHUNT_ASSIGN(const bool complete, inner->wait(most));
    if (!device_.waits_fail) return complete;
    return fail(ErrorCode::kDevice, "the wait failed").with_vendor({kAccess, "illegal access"});
  }
  std::optional<Time> time() const override { return inner->time(); }
  std::unique_ptr<NativeEvent> inner;

 private:
  FakeDevice& device_;
};

class FakeNative final : public WorldNativeStream {
 public:
  FakeNative(TestWorld& world, FakeDevice& device) : WorldNativeStream(world), device_(device) {}
  Result<std::unique_ptr<NativeEvent>> create_event(bool timed) override {
    SHUNT_ASSIGN(auto inner, WorldNativeStream::create_event(timed));
    return std::make_unique<FakeEvent>(device_, std::move(inner));
  }
  Status record(NativeEvent& event) override {
    return WorldNativeStream::record(*static_cast<FakeEvent&>(event).inner);
  }
  Result<bool> wait_for(NativeEvent& event) override {
    auto* const fake = dynamic_cast<FakeEvent*>(&event);
    return fake != nullptr ? WorldNativeStream::wait_for(*fake->inner) : false;
  }
  Status run(std::uint64_t task, Binding& binding, const RunArgs&) override {
    auto& fake = static_cast<FakeBinding&>(binding);
    if (fake.refused) {
      return fail(ErrorCode::kDevice, "no launch").with_vendor({kRefused, "invalid launch"});
    }
    submit(task, 1, [&fake] { return fake.launch(); });
    return ok();
  }
  Status write(std::uint64_t task, Address, std::span<const std::byte>) override {
    if (waiting) return check_devices();
    if (full) return timed_out();
    submit(task, 2, [] { return ok(); });
    return ok();
  }
  Status copy(std::uint64_t task, Address to, Address from, std::size_t bytes) override {
    return NativeStream::copy(task, to, from, bytes);
  }
  Status read(std::uint64_t task, std::span<std::byte>, Address) override {
    return write(task, {}, {});
  }
  std::string nodes_of(const Binding& binding) const override {
    return static_cast<const FakeBinding&>(binding).node;
  }
  std::optional<NativeFailure> failure() override {
    return stuck_ ? stuck_ : WorldNativeStream::failure();
  }
  Status recover() override {
    return device_.waits_fail ? Status(fail(ErrorCode::kDevice, "no way back"))
                              : WorldNativeStream::recover();
  }
  /// The work that it was given never ends, and nothing reports it.
  void stop_working() { queue().stop(); }
  bool is_busy() override { return busy; }
  bool busy = true;
  bool waiting = false;  ///< its queue has no room at the moment
  bool full = false;     ///< its queue has no room within the timeout
  /// The device is lost, and the work that it was given never ends. `hung`: its vendor says so.
  void get_stuck(bool hung = false) {
    queue().stop();
    stuck_ = {.error = fail(ErrorCode::kDevice, "fell off the bus").with_vendor({79, "gone"}),
              .lost = true,
              .hung = hung};
  }

 protected:
  bool lost() const override { return device_.lost; }
  bool tells_task() const override { return device_.tells_task; }

 private:
  FakeDevice& device_;
  std::optional<NativeFailure> stuck_;
};

/// A stream with short names for the actions of the tests.
class FakeStream {
 public:
  FakeStream(TestWorld& world, FakeDevice& device) {
    auto owned = std::make_unique<FakeNative>(world, device);
    native = owned.get();
    auto made = EventStream::create(std::move(owned), device.health);
    EXPECT_TRUE(made) << made.error().message();
    stream = std::move(*made);
  }
  std::unique_ptr<Event> event() { return std::move(*stream->create_event()); }
  Status run(FakeBinding& binding, std::vector<Event*> waits, Event* signal,
             const std::atomic<bool>* cancel = nullptr) {
    return stream->run(binding, {dynamic_dims, cancel}, waits, signal);
  }
  DynamicDimValues dynamic_dims = {};
  FakeNative* native = nullptr;
  std::unique_ptr<EventStream> stream;
};

/// A device with one stream, and three events of it.
struct OneStream {
  TestWorld world;
  FakeDevice device{"a0"};
  FakeStream a{world, device};
  std::unique_ptr<Event> first = a.event();
  std::unique_ptr<Event> second = a.event();
  std::unique_ptr<Event> third = a.event();
};

}  // namespace shunt::test::event_streams
