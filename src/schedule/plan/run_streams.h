// The streams of a run.
#pragma once

#include <array>
#include <memory>

#include "base/enum_table.h"
#include "device/device_set.h"
#include "schedule/plan/action.h"

namespace shunt {

/// One stream for each queue of a device that has work, opened at its first use. Errors name the
/// device.
class RunStreams {
 public:
  /// `timed`: events tell when work was done. The devices must outlive it.
  RunStreams(std::span<Device* const> devices, bool timed)
      : devices_(devices), streams_(devices.size()), timed_(timed) {}

  bool timed() const { return timed_; }
  Result<Stream*> of(int device, Queue queue);
  /// An event of that stream, which is open.
  Result<std::unique_ptr<Event>> create_event(int device, Queue queue);
  /// Waits until none of them has work: no work may be running when its memory is freed.
  void drain();

 private:
  std::unique_ptr<Stream>& at(int device, Queue queue) { return streams_[device][to_index(queue)]; }
  std::span<Device* const> devices_;
  PerDevice<std::array<std::unique_ptr<Stream>, 2>> streams_;  // by queue
  bool timed_;
};

}  // namespace shunt
