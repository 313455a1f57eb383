// For tests of operators: scalars, arrays, views and 16-bit numbers, whose values are computed here
// a second time.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support.h"

namespace ascend_test::elementwise {

using Shape = std::vector<std::int64_t>;
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinityF = std::numeric_limits<float>::infinity();

/// A view of memory of its own, which holds `storage`.
template <class Value>
class Strided {
 public:
  Strided(aclDataType type, const Shape& shape, const Shape& strides, std::int64_t offset,
          const std::vector<Value>& storage)
      : buffer_(storage.size() * sizeof(Value)) {
    buffer_.put(storage);
    const auto count = static_cast<std::int64_t>(storage.size());
    tensor_ = aclCreateTensor(shape.data(), shape.size(), type, strides.data(), offset,
                              ACL_FORMAT_ND, &count, 1, buffer_.address());
  }
  ~Strided() { aclDestroyTensor(tensor_); }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;
  aclTensor* get() const { return tensor_; }
  std::vector<Value> storage() const { return buffer_.template get<Value>(); }

 private:
  Buffer buffer_;
  aclTensor* tensor_ = nullptr;
};

/// Without memory: of an empty tensor, or for first phases.
class Bare {
 public:
  Bare(aclDataType type, const Shape& shape)
      : tensor_(aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, ACL_FORMAT_ND,
                                shape.data(), shape.size(), nullptr)) {}
  ~Bare() { aclDestroyTensor(tensor_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;
  aclTensor* get() const { return tensor_; }

 private:
  aclTensor* tensor_;
};

using Second = aclnnStatus (*)(void*, std::uint64_t, aclOpExecutor*, aclrtStream);
/// Name and phases of an operator, for tables.
#define ASCEND_FUNCTION(name) #name, aclnn##name##GetWorkspaceSize, aclnn##name

inline double silu(double x) {
  return x / (1 + std::exp(-x));
}
inline double erf_gelu(double x) {
  return x / 2 * std::erfc(-x / std::sqrt(2.0));
}
inline double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * std::pow(x, 3))));
}

/// Workspace that the first phase asks for; the executor is dropped. All ones if it refuses.
template <class First, class... Arguments>
std::uint64_t workspace_of(First first, Arguments... arguments) {
  std::uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (first(arguments..., &bytes, &executor) != ACL_SUCCESS) return ~std::uint64_t{0};
  aclDestroyAclOpExecutor(executor);
  return bytes;
}

/// IEEE binary16.
inline double value_of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 31) size = mantissa == 0 ? HUGE_VAL : std::nan("");
  return bits >> 15 != 0 ? -size : size;
}

/// Whether a number of 11 significant bits is the nearest to `exact` (ties either way).
inline bool is_nearest_half(std::uint16_t bits, double exact) {
  const int exponent = exact == 0 ? -14 : std::max(std::ilogb(exact), -14);
  return std::fabs(value_of_half(bits) - exact) <= std::ldexp(0.5 + 1e-9, exponent - 10);
}

/// Within one rounding of F32, and a little for the twin's own functions.
inline void expect_floats(const std::vector<float>& values, const std::vector<double>& exact,
                          double absolute = 0) {
  ASSERT_EQ(values.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (std::isnan(exact[i]) || std::isinf(exact[i])) {
      EXPECT_EQ(std::isnan(values[i]), std::isnan(exact[i])) << i;
      EXPECT_EQ(std::isinf(values[i]), std::isinf(exact[i])) << i;
      EXPECT_TRUE(std::isnan(exact[i]) || std::signbit(values[i]) == std::signbit(exact[i])) << i;
      continue;
    }
    EXPECT_NEAR(static_cast<double>(values[i]), exact[i], std::fabs(exact[i]) * 6.1e-8 + absolute)
        << i;
  }
}

}  // namespace ascend_test::elementwise
