// The stream of a device without asynchrony: work is done when the call returns.
#pragma once

#include <functional>
#include <optional>

#include "shunt/device.h"

namespace shunt {

/// Done as soon as it is signalled; keeps the error of its work.
class SyncEvent final : public Event {
 public:
  explicit SyncEvent(bool timed = false) : timed_(timed) {}
  bool timed() const { return timed_; }
  Status wait() override {
    if (error_) return Error(*error_);
    return ok();
  }
  std::optional<WorkTimes> times() const override { return times_; }
  void signal(const Status& status, const std::optional<WorkTimes>& times = {}) {
    times_ = times;
    if (status) {
      error_.reset();
    } else {
      error_ = status.error();
    }
  }

 private:
  bool timed_;
  std::optional<Error> error_;
  std::optional<WorkTimes> times_;
};

/// A device derives from this and implements running a binding. Its events must be SyncEvents, made
/// by create_event().
class SyncStream : public Stream {
 public:
  Result<std::unique_ptr<Event>> create_event() override { return std::make_unique<SyncEvent>(); }
  Result<std::unique_ptr<Event>> create_timed_event() override {
    return std::make_unique<SyncEvent>(true);
  }
  Status run(Binding& binding, const RunArgs& args, std::span<Event* const> waits,
             Event* signal) override;
  Status write(Address to, std::span<const std::byte> from, std::span<Event* const> waits,
               Event* signal) override;
  Status read(std::span<std::byte> to, Address from, std::span<Event* const> waits,
              Event* signal) override;
  Status write_2d(Address to, const std::byte* from, const CopyShape& shape,
                  std::span<Event* const> waits, Event* signal) override;
  Status read_2d(std::byte* to, Address from, const CopyShape& shape, std::span<Event* const> waits,
                 Event* signal) override;
  Status synchronize() override {
    failed_ = ok();
    return ok();
  }

 protected:
  virtual Status run_now(Binding& binding, const RunArgs& args) = 0;

 private:
  /// Waits, works and signals how that went, unless something has failed since synchronize().
  template <class Work>
  Status work_now(std::span<Event* const> waits, Event* signal, Work work);
  Status failed_;  // the first error since synchronize()
};

}  // namespace shunt
