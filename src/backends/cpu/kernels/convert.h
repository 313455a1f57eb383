// Integers and F64 into each other, where the way by F32 would lose digits.
#pragma once

#include <array>
#include <cstring>
#include <utility>

#include "backends/cpu/kernel.h"
#include "tensor/formats/plain.h"

namespace shunt::cpu {

/// Converts `count` elements between any strides.
using Convert = void (*)(const std::byte* from, std::int64_t from_stride, std::byte* to,
                         std::int64_t to_stride, std::int64_t count);

/// Rounded to nearest, even if between two; saturated; not-a-number is 0 in integers.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return formats::round_to_integer<To>(value);
  } else {
    using Limits = std::numeric_limits<To>;
    if (std::cmp_less(value, Limits::min())) return Limits::min();
    if (std::cmp_greater(value, Limits::max())) return Limits::max();
    return static_cast<To>(value);
  }
}

/// How `from` becomes `to` without going by F32; null where it goes that way.
inline Convert direct_conversion(DType from, DType to) {
  const auto with_type = [](DType type, auto f) -> Convert {
    switch (type) {
      case DType::kI8:  // NOLINT(bugprone-branch-clone): each branch calls f with another type
        return f(std::int8_t());
      case DType::kI16:
        return f(std::int16_t());
      case DType::kI32:
        return f(std::int32_t());
      case DType::kI64:
        return f(std::int64_t());
      case DType::kF64:
        return f(double());
      default:
        return nullptr;
    }
  };
  return with_type(from, [&]<class From>(From) {
    return with_type(to, []<class To>(To) -> Convert {
      return [](const std::byte* source, std::int64_t source_stride, std::byte* target,
                std::int64_t target_stride, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
          From value;
          std::memcpy(&value, source + i * source_stride, sizeof value);
          const To result = converted<To>(value);
          std::memcpy(target + i * target_stride, &result, sizeof result);
        }
      };
    });
  });
}

}  // namespace shunt::cpu
