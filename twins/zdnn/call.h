// What every call into the library has around it, and how it says no.
#pragma once

#include <cfenv>
#include <cstdint>
#include <new>

#include "include/zdnn.h"

namespace zdnn_twin {

/// IEEE arithmetic as it is at first (to nearest, subnormal numbers as they are), and no exceptions
/// on record; the calling thread's own state comes back afterwards.
class DefaultArithmetic {
 public:
  DefaultArithmetic() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&saved_); }
  DefaultArithmetic(const DefaultArithmetic&) = delete;
  DefaultArithmetic& operator=(const DefaultArithmetic&) = delete;

 private:
  std::fenv_t saved_;
};

/// The exported function that this thread is in, for messages.
void enter(const char* function);

/// The status, with its reason kept for zdnn_twin_last_message().
zdnn_status refuse(zdnn_status status, const char* reason);

/// What the vendor's library finds only if it is told to check (ZDNN_ENABLE_PRECHECK), and else
/// ends the process over: bad shapes, types and formats, memory that isn't there. A status; the
/// process's end if strict mode says "abort".
zdnn_status misuse(zdnn_status status, const char* reason);

/// What the machine would not notice and compute nonsense with. Nothing unless strict mode is on.
zdnn_status object(zdnn_status status, const char* reason);

/// Runs the body of an exported function; memory that runs out inside it is a status.
template <class Body>
zdnn_status guarded(const char* function, Body body) noexcept {
  enter(function);
  const DefaultArithmetic arithmetic;
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return refuse(ZDNN_ALLOCATION_FAILURE, "the twin's own memory ran out");
  } catch (...) {
    return refuse(ZDNN_UNSUPPORTED_AIU_EXCEPTION, "the twin failed");
  }
}

/// Leaves the calling function with the status if it is not ZDNN_OK.
#define ZDNN_TWIN_TRY(expression)                                                 \
  do {                                                                            \
    if (const zdnn_status failed_status = (expression); failed_status != ZDNN_OK) \
      return failed_status;                                                       \
  } while (false)

}  // namespace zdnn_twin
