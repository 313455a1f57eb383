// Where exceptions of libraries, bad_alloc above all, become errors.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "base/fail.h"
#include "shunt/error.h"

namespace shunt::gguf {

/// What f() returns, or the error that stands for what it throws. `name` is the file at work.
template <class F>
auto without_exceptions(const std::string& name, F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kOutOfMemory, "{}: out of memory", name);
  } catch (const std::exception& e) {
    return fail(ErrorCode::kInternal, "{}: {}", name, e.what());
  }
}

}  // namespace shunt::gguf
