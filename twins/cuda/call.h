// How the twin says no, and the frame around every call into it (common/call.h).
#pragma once

#include <string>

#include "common/call.h"
#include "cuda/driver/functions.h"
#include "cuda/driver/state.h"

namespace cuda_twin {

struct Answers {
  using Status = CUresult;
  static constexpr CUresult kOk = CUDA_SUCCESS;
  static constexpr CUresult kOutOfMemory = CUDA_ERROR_OUT_OF_MEMORY;
  static constexpr CUresult kFailed = CUDA_ERROR_UNKNOWN;
  static constexpr const char* kName = "CUDA";
  static constexpr twin::CodeStyle kCodes = twin::CodeStyle::kDecimal;
  static twin::Strict strict() { return twin::Strict::kOff; }
  static void objected() {}
};
using Calls = twin::Calls<Answers>;

/// The result, with its reason kept as this thread's last message.
inline CUresult refuse(CUresult result, const char* reason) {
  return Calls::refuse(result, reason);
}
inline CUresult refuse(CUresult result, const std::string& reason) {
  return Calls::refuse(result, reason.c_str());
}

/// The function that the program called, while its body calls another one. Null: no such body runs.
inline thread_local const char* forwarding_function = nullptr;
struct Forwarding {
  explicit Forwarding(const char* function) { forwarding_function = function; }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;
  ~Forwarding() { forwarding_function = nullptr; }
};
/// The name in messages.
inline const char* called_name(const char* function) {
  return forwarding_function == nullptr ? function : forwarding_function;
}

/// Counts the call, and refuses it where no call may go on: in a host function, in a forked child,
/// on a lost device, without cuInit, or if the function is missing by setting. A call by another
/// function is admitted: that one was.
CUresult admit(std::size_t function);

/// The frame of a function that always answers, even on a lost device.
template <class Body>
CUresult query(const char* function, Body body) noexcept {
  static const std::size_t index = function_index(function);
  count_call(index);
  return Calls::guarded(function, body);
}

/// The frame of a function that needs no context.
template <class Body>
CUresult call(const char* function, Body body) noexcept {
  static const std::size_t index = function_index(function);
  return Calls::guarded(called_name(function), [&]() -> CUresult {
    const CUresult admitted = admit(index);
    return admitted == CUDA_SUCCESS ? body() : admitted;
  });
}

/// The frame of a function that uses the current context: `body(Context&)`.
template <class Body>
CUresult call_in_context(const char* function, Body body) noexcept {
  static const std::size_t index = function_index(function);
  return Calls::guarded(called_name(function), [&]() -> CUresult {
    const CUresult admitted = admit(index);
    if (admitted != CUDA_SUCCESS) return admitted;
    std::shared_ptr<Context> context;
    const CUresult found = current_context(context);
    return found == CUDA_SUCCESS ? body(*context) : found;
  });
}

/// The same for a function with a stream: `body(Context&, Stream&)`.
template <class Body>
CUresult call_in_stream(const char* function, CUstream handle, Body body) noexcept {
  static const std::size_t index = function_index(function);
  return Calls::guarded(called_name(function), [&]() -> CUresult {
    const CUresult admitted = admit(index);
    if (admitted != CUDA_SUCCESS) return admitted;
    std::shared_ptr<Context> context;
    std::shared_ptr<Stream> stream;
    const CUresult found = stream_of(handle, context, stream);
    return found == CUDA_SUCCESS ? body(*context, *stream) : found;
  });
}

/// Leaves the calling function with the result if it is an error.
#define CUDA_TWIN_TRY(expression)                                                   \
  do {                                                                              \
    if (const CUresult failed_result = (expression); failed_result != CUDA_SUCCESS) \
      return failed_result;                                                         \
  } while (false)

}  // namespace cuda_twin
