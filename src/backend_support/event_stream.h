// The stream of an asynchronous device: a vendor's queue, and the errors that the vendor does not
// pass on. A failed task makes all later events of its stream fail, and all events of work that
// waited for one of those, on any stream or device, until synchronize().
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "backend_support/device_health.h"
#include "backend_support/native_stream.h"
#include "backend_support/stream_history.h"
#include "shunt/device.h"

namespace shunt {

/// May be waited for by several threads at once. Must not be signalled again meanwhile.
class StreamEvent final : public Event {
 public:
  /// `begin`: only of a timed event.
  StreamEvent(const DeviceHealth& device, std::unique_ptr<NativeEvent> begin,
              std::unique_ptr<NativeEvent> end)
      : device_(device), begin_(std::move(begin)), end_(std::move(end)) {}
  Status wait() override;
  std::optional<WorkTimes> times() const override;

 private:
  friend class EventStream;
  const DeviceHealth& device_;
  std::unique_ptr<NativeEvent> begin_;
  std::unique_ptr<NativeEvent> end_;
  StreamClock clock_;              // of the work that signals it, whose own entry is the last
  bool recorded_ = false;          // else that work was left out
  std::atomic<bool> seen_ = true;  // waited for since it was signalled
};

/// Waits on the device for events of streams that the vendor can wait for, and on the host, while
/// submitting, for all others.
class EventStream final : public Stream {
 public:
  /// `health`: one for all streams of the device.
  static Result<std::unique_ptr<EventStream>> create(std::unique_ptr<NativeStream> native,
                                                     std::shared_ptr<DeviceHealth> health);
  /// Waits until all work is done, but not for a lost device.
  ~EventStream() override;

  Result<std::unique_ptr<Event>> create_event() override;
  Result<std::unique_ptr<Event>> create_timed_event() override;
  /// These return an error that is already known, and do not submit the work. A late error comes
  /// with the event. Invalid if `signal` is of another device, or if nothing has waited for it
  /// since other work signalled it.
  Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
             Event* signal) override;
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override;
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override;
  Status copy(Address to, Address from, std::size_t bytes, std::span<Event* const> waits,
              Event* signal) override;
  Status write_2d(Address to, const std::byte* from, const CopyShape& shape,
                  std::span<Event* const> waits, Event* signal) override;
  Status read_2d(std::byte* to, Address from, const CopyShape& shape, std::span<Event* const> waits,
                 Event* signal) override;
  Status copy_2d(Address to, Address from, const CopyShape& shape, std::span<Event* const> waits,
                 Event* signal) override;
  /// An error says that the device is lost, or that this stream waits for another lost device.
  Status synchronize() override;

 private:
  EventStream(std::unique_ptr<NativeStream> native, std::unique_ptr<NativeEvent> idle,
              std::shared_ptr<DeviceHealth> health);
  template <class Work>
  Status submit(std::span<Event* const> waits, Event* signal, Work work);
  template <class Work>
  Status try_submit(std::uint64_t task, std::span<Event* const> waits, StreamEvent* signal,
                    Work work);
  Status check_signal(const StreamEvent& event, std::uint64_t task) const;
  Status wait_for(std::span<Event* const> waits);
  Status wait_for(StreamEvent& event);
  Status drain();

  std::unique_ptr<NativeStream> native_;
  std::unique_ptr<NativeEvent> idle_;
  std::shared_ptr<StreamHistory> history_;
  StreamClock clock_;  // of all that this stream waited for since synchronize()
};

}  // namespace shunt
