// The settings of the twin, and the failures that tests ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/call.h"
#include "common/settings.h"

namespace zdnn_twin {

enum class Setting : std::size_t {
  kProfile,         // index of machine.h's profiles
  kStrict,          // Strict
  kAccumulate,      // Accumulate
  kTooLarge,        // TooLarge
  kFailAllocation,  // a fault's number, see common/faults.h
  kFailConversion,
  kFailRange,
  kFailHardware,
  kHardwareCode,  // the result of kFailHardware: a response code, or a whole status
};

using twin::Strict;
enum class Accumulate : std::int64_t { kSingle, kDouble, kDlfloat };
/// The reaction of a plain transform in software to a finite number that becomes NINF.
enum class TooLarge : std::int64_t { kSilent, kConvertFailure };

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

}  // namespace zdnn_twin
