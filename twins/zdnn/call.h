// How the twin says no, and the frame around every call into it (common/call.h).
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

/// An error that the vendor's library finds only with its checks enabled (ZDNN_ENABLE_PRECHECK):
/// bad shapes, types and formats, missing memory. Without them, the error ends the process.
inline zdnn_status misuse(zdnn_status status, const char* reason) {
  return Calls::misuse(status, reason);
}

/// An error that the machine would not notice: it would compute nonsense.
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
