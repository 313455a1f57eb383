// The settings of the twin, and the failures that tests ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/settings.h"

namespace cuda_twin {

enum class Setting : std::size_t {
  kProfile,          // p40 t4 a100 rtx4090 orin h200 b200 m40 (profiles.h), or a list of these
  kDevices,          // 0 to 8
  kPeers,            // off, on, alike
  kMultiprocessors,  // of a device; 0: the profile's
  kMemory,           // bytes of a device; 0: the profile's
  kDriverMemory,     // off, on: memory that the driver takes for itself is counted
  kClock,            // parts per million by which the devices' clocks are too fast
  kDriver,           // 11000 ... 13000: cuDriverGetVersion and the newest PTX that loads
  kOrder,            // seed of delays and of the order of blocks and warps; 0: in order
  kThreads,  // host threads for the blocks of a launch; 0: as many as cores, 1: in the seed's order
  kCheckInitialised,  // off, on
  kCheckCopies,       // off, on: copies to the host read, too
  kCheckRaces,
  kCheckWarp,
  kFindings,        // stop (a finding ends the launch), record
  kMmaSum,          // single, double, truncated
  kApproximate,     // documented (good within the bound), worst (at its edge)
  kLevel,           // vector level of the host: baseline, v3, v4 (or best: the same)
  kInstructions,    // limit of warp instructions of a launch; 0: none
  kFailAllocation,  // faults: n-th event, or n+ for all after it
  kFailPinned,
  kFailModule,
  kFailLaunch,
  kFailCopy,
  kFailInstantiate,
  kFailLate,  // n-th work of a stream fails after it was accepted, with kLateCode
  kLateCode,  // 700, 719, 214 ...
  kFailHang,  // n-th work of a stream never ends, until its context does
  kFailLost,  // n-th call: the device is lost from then on
  kMissing,   // index of a function in symbols.txt that cuGetProcAddress does not find, and that
              // refuses its calls by symbol; from 1; 0: none
};

inline constexpr std::int64_t kAsManyAsProfiles = -1;  ///< kDevices, if it was not set
enum PeerRule : std::int64_t { kPeersOff, kPeersOn, kPeersAlike };

twin::Settings& settings();
inline std::int64_t setting(Setting which) {
  return settings().value(static_cast<std::size_t>(which));
}
inline bool fault_is_due(Setting fault) {
  return settings().fault_is_due(static_cast<std::size_t>(fault));
}

}  // namespace cuda_twin
