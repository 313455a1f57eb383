// The settings of the twin, its counters and its answers.
#pragma once

#include "common/call.h"
#include "common/counters.h"
#include "common/settings.h"
#include "include/abacus_twin.h"

namespace abacus_twin {

enum Setting : std::size_t { kStrict, kBeads, kFailAdd };

twin::Settings& settings();
twin::Counters<ABACUS_TWIN_OBJECTIONS + 1>& counters();

struct Answers {
  using Status = abacus_status;
  static constexpr abacus_status kOk = ABACUS_OK;
  static constexpr abacus_status kOutOfMemory = ABACUS_OUT_OF_MEMORY;
  static constexpr abacus_status kFailed = ABACUS_UNKNOWN;
  static constexpr const char* kName = "Abacus";
  static constexpr twin::CodeStyle kCodes = twin::CodeStyle::kDecimal;
  static twin::Strict strict() { return static_cast<twin::Strict>(settings().value(kStrict)); }
  static void objected() { counters().add(ABACUS_TWIN_OBJECTIONS); }
};
using Calls = twin::Calls<Answers>;

}  // namespace abacus_twin
