/// \file
/// Messages of errors and reports. Include it where a program, an op or a backend makes errors of
/// its own. It needs the library fmt, as headers for backends do; no other public header does.
///
/// \code
/// return fail(ErrorCode::kNotFound, "{}: no tensor {}", path, name);
/// \endcode
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// An error with a formatted message. Not a template, so that formatting is compiled once.
Error vfail(ErrorCode code, fmt::string_view format, fmt::format_args args);

/// An error with a formatted message.
template <class... Args>
Error fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return vfail(code, format, fmt::make_format_args(args...));
}

/// fail() with ErrorCode::kInvalidArgument.
template <class... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return vfail(ErrorCode::kInvalidArgument, format, fmt::make_format_args(args...));
}

/// The noun alone, for where the number is aligned: "token", "tokens". `noun` is its singular; the
/// plural ends in s.
inline std::string noun_for(std::uint64_t number, std::string_view noun) {
  return fmt::format("{}{}", noun, number == 1 ? "" : "s");
}

/// "1 token", "2 tokens".
inline std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}", number, noun_for(number, noun));
}

}  // namespace shunt
