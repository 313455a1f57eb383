// An event's state, apart from the calls that streams and programs make (event.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "ascend/counts.h"

namespace ascend_twin {

struct Context;
struct Device;
class Recorder;
class Stream;

/// Its records are numbered from 1. A wait is for one of them: a later record does not end it.
struct Event {
  /// Which function made it: aclrtCreateEvent, ...WithFlag ("old mode"), ...ExWithFlag.
  enum class Mode : std::uint8_t { kPlain, kOld, kEx };
  /// A record that its stream has not reached.
  struct Pending {
    std::weak_ptr<Stream> stream;
    std::uint64_t ticket = 0;  ///< 0 while it is being submitted
    bool urgent = false;       ///< somebody waits
  };
  Mode mode = Mode::kPlain;
  std::uint32_t flags = 0;
  std::weak_ptr<Context> context;
  std::shared_ptr<Device> resource_of;  ///< the device whose resource it has; by the first record

  mutable std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t recorded = 0;  ///< records that were submitted
  std::map<std::uint64_t, Pending> pending;
  std::uint64_t latest = 0;          ///< of the records that were reached
  std::uint32_t waits = 0;           ///< of streams, that are not over
  bool is_reset = false;             ///< by aclrtResetEvent, since the last record
  std::uint64_t microseconds = 0;    ///< when it was reached
  std::weak_ptr<Recorder> recorder;  ///< the capture of its last record, if it was captured
  InLedger<ASCEND_TWIN_LIVE_EVENTS> in_ledger;

  /// Under the mutex.
  bool is_reached(std::uint64_t record) const {
    return recorded >= record && pending.find(record) == pending.end();
  }
  /// The stream has reached the record, at this tick of the twin's clock.
  void reach(std::uint64_t record, std::uint64_t tick) {
    const std::lock_guard lock(mutex);
    pending.erase(record);
    if (record > latest) {
      latest = record;
      microseconds = tick;
      is_reset = false;
    }
    changed.notify_all();
  }
};

}  // namespace ascend_twin
