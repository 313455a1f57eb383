// Sums of products as mma makes them: d = a b + d, with a of `rows` rows and k columns (the next
// row after k), b of k rows of 8 columns.
//   single: each product, exact but for subnormal results, is added in float, in order of k
//   double: the same in double, rounded to float once
//   truncated: C and all products are aligned to the largest exponent among them, cut after two
//     bits below the last one of a float, added exactly, and cut to a float
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "cuda/instructions/fragments.h"
#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Eight columns of a row.
typedef float Floats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(64)));

struct Product {
  const float* a = nullptr;
  const float* b = nullptr;  ///< 64-byte aligned
  float* d = nullptr;        ///< 64-byte aligned
  unsigned rows = 0;         ///< 8 or 16
  unsigned k = 0;
};

inline void sum_single(const Product& product) {
  constexpr unsigned kBlock = 8;  // rows whose sums stay in registers
  const unsigned k = product.k;
  const auto* b = reinterpret_cast<const Floats*>(product.b);
  for (unsigned first = 0; first < product.rows; first += kBlock) {
    const float* a = product.a + static_cast<std::size_t>(first) * k;
    auto* d = reinterpret_cast<Floats*>(product.d) + first;
    Floats sums[kBlock];
#pragma GCC unroll 8
    for (unsigned row = 0; row < kBlock; ++row) sums[row] = d[row];
    for (unsigned i = 0; i < k; ++i) {
#pragma GCC unroll 8
      for (unsigned row = 0; row < kBlock; ++row) sums[row] += a[row * k + i] * b[i];
    }
#pragma GCC unroll 8
    for (unsigned row = 0; row < kBlock; ++row) d[row] = sums[row];
  }
}

inline void sum_double(const Product& product) {
  const unsigned k = product.k;
  for (unsigned row = 0; row < product.rows; ++row) {
    const float* a = product.a + static_cast<std::size_t>(row) * k;
    float* d = product.d + static_cast<std::size_t>(row) * kColumns;
    double sums[kColumns];
    for (unsigned j = 0; j < kColumns; ++j) sums[j] = d[j];
    for (unsigned i = 0; i < k; ++i) {
      const double factor = a[i];
      const float* b = product.b + static_cast<std::size_t>(i) * kColumns;
      for (unsigned j = 0; j < kColumns; ++j) sums[j] += factor * b[j];
    }
    for (unsigned j = 0; j < kColumns; ++j) d[j] = static_cast<float>(sums[j]);
  }
}

/// Towards zero. What is 2^128 or more is infinite.
[[gnu::always_inline]] inline float cut_to_float(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(value);
  const bool beyond = __builtin_fabs(value) >= 0x1p128;
  return std::bit_cast<float>(bits - static_cast<std::uint32_t>(away && !beyond));
}

/// The exponent field of a double, in place: to compare, and as a power of two.
[[gnu::always_inline]] inline std::int64_t exponent_bits(double value) {
  constexpr std::int64_t kExponent = 0x7FF0000000000000;
  return std::bit_cast<std::int64_t>(value) & kExponent;
}

/// The addends of one result: `terms` of them, one each 8 places.
inline float sum_truncated(const double* addends, unsigned terms) {
  constexpr std::int64_t kInfinite = 0x7FF0000000000000;
  std::int64_t largest = 0;
  for (unsigned i = 0; i < terms; ++i) {
    const std::int64_t bits = exponent_bits(addends[std::size_t{kColumns} * i]);
    largest = bits > largest ? bits : largest;
  }
  double sum = 0;
  if (largest == kInfinite || largest == 0) {
    for (unsigned i = 0; i < terms; ++i) sum += addends[std::size_t{kColumns} * i];
    return static_cast<float>(sum);
  }
  // 23 bits of fraction and two: the unit is 2^(exponent - 25). Products of floats are far from the
  // ends of double's range, so both powers are normal.
  constexpr std::int64_t kOne = std::int64_t{1023} << 52;
  constexpr std::int64_t kBits = std::int64_t{25} << 52;
  const auto unit = std::bit_cast<double>(largest - kBits);
  const auto to_units = std::bit_cast<double>(2 * kOne - (largest - kBits));
  for (unsigned i = 0; i < terms; ++i) {
    sum += static_cast<std::int32_t>(addends[std::size_t{kColumns} * i] * to_units);
  }
  return cut_to_float(sum * unit);
}

inline void sum_truncated(const Product& product) {
  double addends[(kMostK + 1) * kColumns];
  for (unsigned row = 0; row < product.rows; ++row) {
    const float* a = product.a + static_cast<std::size_t>(row) * product.k;
    float* d = product.d + static_cast<std::size_t>(row) * kColumns;
    for (unsigned j = 0; j < kColumns; ++j) addends[j] = d[j];
    for (unsigned i = 0; i < product.k; ++i) {
      const double factor = a[i];
      const float* b = product.b + static_cast<std::size_t>(i) * kColumns;
      double* to = addends + static_cast<std::size_t>(i + 1) * kColumns;
      for (unsigned j = 0; j < kColumns; ++j) to[j] = factor * b[j];
    }
    for (unsigned j = 0; j < kColumns; ++j) d[j] = sum_truncated(addends + j, product.k + 1);
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
