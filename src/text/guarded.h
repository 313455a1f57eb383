// Nothing is thrown across the API: what the standard library throws becomes an Error.
#pragma once

#include <exception>
#include <new>

#include "shunt/error.h"

namespace shunt::text {

/// What `function`, which returns a Result, returns; or the error for what it threw.
template <class Function>
auto guarded(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kOutOfMemory, "out of memory");  // short: needs no memory itself
  } catch (const std::exception& exception) {
    return Error(ErrorCode::kInternal, exception.what());
  }
}

}  // namespace shunt::text
