// How the twin says no, and what every call into it has around it (common/call.h).
#pragma once

#include "common/call.h"
#include "include/zdnn.h"
#include "settings.h"

namespace zdnn_twin {

struct Answers {
  using Status = zdnn_status;
  static constexpr zdnn_status kOk = ZDNN_OK;
  static constexpr zdnn_status kOutOfMemory = ZDNN_ALLOCATION_FAILURE;
  static constexpr zdnn_status kFailed = ZDNN_UNSUPPORTED_AIU_EXCEPTION;
  static constexpr const char* kName = "zDNN";
  static constexpr twin::CodeStyle kCodes = twin::CodeStyle::kHex;
  static Strict strict() { return setting_as<Strict>(Setting::kStrict); }
  static void objected();
};
using Calls = twin::Calls<Answers>;

using twin::enter;

inline zdnn_status refuse(zdnn_status status, const char* reason) {
  return Calls::refuse(status, reason);
}

/// What the vendor's library finds only if it is told to check (ZDNN_ENABLE_PRECHECK), and else
/// ends the process over: bad shapes, types and formats, missing memory.
inline zdnn_status misuse(zdnn_status status, const char* reason) {
  return Calls::misuse(status, reason);
}

/// What the machine would not notice and compute nonsense with.
inline zdnn_status object(zdnn_status status, const char* reason) {
  return Calls::object(status, reason);
}

template <class Body>
zdnn_status guarded(const char* function, Body body) noexcept {
  return Calls::guarded(function, body);
}

/// Leaves the calling function with the status if it is not ZDNN_OK.
#define ZDNN_TWIN_TRY(expression)                                                 \
  do {                                                                            \
    if (const zdnn_status failed_status = (expression); failed_status != ZDNN_OK) \
      return failed_status;                                                       \
  } while (false)

}  // namespace zdnn_twin
