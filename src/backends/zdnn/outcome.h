// The outcome of a call of the library.
#pragma once

#include "backends/zdnn/symbols.h"
#include "shunt/error.h"

namespace shunt::zdnn {

enum class Outcome : std::uint8_t {
  kOk,
  kOutOfRange,  ///< a number that DLFLOAT16 does not have went in or came out
  kFailed,
};

inline Outcome outcome_of(std::uint32_t status) {
  if (status == kOk) return Outcome::kOk;
  const bool warning = (status & 0xFFFF0000U) == kWarningClass;
  return warning || status == kConvertFailure ? Outcome::kOutOfRange : Outcome::kFailed;
}

/// OutOfMemory or Device, with the function, the code and the library's words.
Error error_of(const Symbols& zdnn, const char* function, std::uint32_t status);

}  // namespace shunt::zdnn
