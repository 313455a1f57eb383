// Nothing is thrown across the API: an exception of the standard library or others, bad_alloc above
// all, becomes an Error.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "shunt/error.h"

namespace shunt {

/// The Result of `function`, or the error for the exception that it threw. `context`, if there is
/// any, names the work ("FILE: out of memory").
template <class Function>
auto guarded(const Function& function, std::string_view context = {}) -> decltype(function()) {
  const auto error = [&](ErrorCode code, const char* message) {
    Error plain(code, message);
    return context.empty() ? plain : std::move(plain).with_context(context);
  };
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& exception) {
    return error(ErrorCode::kInternal, exception.what());
  } catch (...) {
    return error(ErrorCode::kInternal, "an exception of an unknown type");
  }
}

}  // namespace shunt
