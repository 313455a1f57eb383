// The value of a result in helpers of tests, which throw instead of passing errors on.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "shunt/error.h"

namespace shunt::test {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace shunt::test
