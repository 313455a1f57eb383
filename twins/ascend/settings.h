// The settings of the twin, and the failures that tests ask for. Each is an environment variable
// ASCEND_TWIN_NAME. This is the only file that reads the environment, by common/settings.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/call.h"
#include "common/settings.h"

namespace ascend_twin {

enum class Setting : std::size_t {
  kProfile,     // 910b, 310p, 310b, none (profiles.h)
  kSoc,         // index into the names of SoCs (profiles.h); 0: the profile's own
  kDevices,     // 1 to 8
  kPeers,       // off, on, profile
  kMemory,      // bytes of a device; 0: the profile's
  kSupport,     // docs, package, field (support.h)
  kStrict,      // off, status, abort
  kOrder,       // kEager, kLazy, or a seed from 2 on
  kCallback,    // before, after, never: of a failed task, against its event
  kAccumulate,  // single, double, half
  kClock,       // real, tasks: a microsecond for each task
  kAftermath,   // off, on: a failed first phase spoils the thread's next one, without exception
                // information (facts B)
  kFailDeviceMemory,  // faults: n-th event, or n+ for all after it
  kFailHostMemory,
  kFailVirtualMemory,  // reserve, physical allocation, map
  kFailResource,       // a stream or an event
  kFailFirstPhase,
  kFirstPhaseCode,  // 561103
  kFailLaunch,      // second phase
  kFailLate,        // n-th task of a stream fails in its turn, with kLateCode
  kLateCode,        // 507015 ...
  kFailCapture,
  kFailLost,         // n-th call of the runtime: the device is lost from then on
  kFailHang,         // n-th task of a stream does not end before the setting is 0
  kFullMemory,       // bytes that others hold already
  kSlowFirstDevice,  // milliseconds of the first aclrtSetDevice
  kExecutorCache,    // off, on: an executor from the cache cannot become repeatable
  kOpp,              // whether the path to the operators' package is right
};

using twin::Strict;
enum class Order : std::int64_t { kEager, kLazy };  // greater: a seed
enum class CallbackTime : std::int64_t { kBefore, kAfter, kNever };
enum class ClockKind : std::int64_t { kReal, kTasks };
enum class Accumulate : std::int64_t { kSingle, kDouble, kHalf };
enum class Support : std::int64_t { kDocs, kPackage, kField };
enum class Peers : std::int64_t { kOff, kOn, kAsProfile };

twin::Settings& settings();
inline std::int64_t setting(Setting which) {
  return settings().value(static_cast<std::size_t>(which));
}
template <class Choice>
Choice setting_as(Setting which) {
  return static_cast<Choice>(setting(which));
}
/// Counts one event of this kind of fault; whether it fails.
inline bool fault_is_due(Setting fault) {
  return settings().fault_is_due(static_cast<std::size_t>(fault));
}
inline bool is_strict() {
  return setting_as<Strict>(Setting::kStrict) != Strict::kOff;
}

}  // namespace ascend_twin
