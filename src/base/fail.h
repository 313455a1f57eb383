// Making errors with formatted messages: `return fail(ErrorCode::kNotFound, "no file {}", path);`
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// Not a template, so that formatting is compiled once.
Error vfail(ErrorCode code, fmt::string_view format, fmt::format_args args);

template <class... Args>
Error fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return vfail(code, format, fmt::make_format_args(args...));
}

template <class... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return vfail(ErrorCode::kInvalidArgument, format, fmt::make_format_args(args...));
}

}  // namespace shunt
