// What can be set about the twin. One table has the names, the values and what they are at first;
// nothing else reads the environment.
#pragma once

#include <cstdint>

namespace zdnn_twin {

enum class Setting {
  kProfile,         // index of machine.h's profiles
  kStrict,          // Strict
  kAccumulate,      // Accumulate
  kTooLarge,        // TooLarge
  kFailAllocation,  // a fault's number, see faults.h
  kFailConversion,
  kFailRange,
  kFailHardware,
  kHardwareCode,  // what kFailHardware gives: a response code, or a whole status
};
inline constexpr int kSettings = 9;

enum class Strict : std::int64_t { kOff, kStatus, kAbort };
enum class Accumulate : std::int64_t { kSingle, kDouble, kDlfloat };
/// What a plain transform in software does with a finite number that becomes NINF.
enum class TooLarge : std::int64_t { kSilent, kConvertFailure };

std::int64_t setting(Setting which);
template <class Choice>
Choice setting_as(Setting which) {
  return static_cast<Choice>(setting(which));
}

/// False, and nothing changed, for an unknown name or value.
bool set_setting(const char* name, const char* value);

/// All settings as the environment says, or as the table does; complains on stderr of values that
/// it doesn't know.
void read_environment();

}  // namespace zdnn_twin
