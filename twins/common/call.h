// An exported function around its body: no exception leaves it, its arithmetic is IEEE's, and a
// refusal has a reason.
#pragma once

#include <cstdint>
#include <new>

#include "common/arithmetic.h"
#include "common/message.h"

namespace twin {

/// The reaction of a strict twin where the real library would compute nonsense or end the process.
enum class Strict : std::int64_t { kOff, kStatus, kAbort };

/// `Twin` describes the library:
///   `using Status = ...;`                        an enumeration or an integer
///   `static constexpr Status kOk, kOutOfMemory, kFailed;`
///   `static constexpr const char* kName;`        on stderr
///   `static constexpr CodeStyle kCodes;`
///   `static Strict strict();`                    as it is set now
///   `static void objected();`                    counts an objection
template <class Twin>
struct Calls {
  using Status = typename Twin::Status;

  /// The status, with its reason kept as this thread's last message.
  static Status refuse(Status status, const char* reason) {
    keep_message(Twin::kCodes, static_cast<std::int64_t>(status), reason);
    return status;
  }

  /// Where the real library may end the process over it, and a twin need not: a status, unless
  /// strict mode says "abort".
  static Status misuse(Status status, const char* reason) {
    refuse(status, reason);
    if (Twin::strict() == Strict::kAbort) end_process(Twin::kName);
    return status;
  }

  /// Where the real library would go on and compute nonsense: kOk unless strict mode is on.
  static Status object(Status status, const char* reason) {
    if (Twin::strict() == Strict::kOff) return Twin::kOk;
    Twin::objected();
    return misuse(status, reason);
  }

  /// Runs the body of an exported function. Memory that runs out inside it is a status.
  template <class Body>
  static Status guarded(const char* function, Body body) noexcept {
    enter(function);
    const DefaultArithmetic arithmetic;
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return refuse(Twin::kOutOfMemory, "the twin's own memory ran out");
    } catch (...) {
      return refuse(Twin::kFailed, "the twin failed");
    }
  }
};

}  // namespace twin
