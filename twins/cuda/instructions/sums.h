// Sums of products as mma makes them: d = a b + d. Matrix a has `rows` rows of k columns, b has k
// rows of 8 columns.
// Single: each product is rounded to float and added in float, in order of k. Products are exact
// unless they are subnormal.
// Double: the same in double, rounded to float once.
// Truncated: C and all products are aligned to the largest exponent among them, and cut after two
// bits below the last one of a float. Their exact sum is cut to a float.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "cuda/instructions/fragments.h"
#include "cuda/instructions/level.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// Eight columns of a row.
typedef float Floats __attribute__((vector_size(32)));

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

/// Towards zero. 2^128 and more is infinite.
[[gnu::always_inline]] inline float cut_to_float(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool away = __builtin_fabs(static_cast<double>(nearest)) > __builtin_fabs(value);
  const bool beyond = __builtin_fabs(value) >= 0x1p128;
  return std::bit_cast<float>(bits - static_cast<std::uint32_t>(away && !beyond));
}

/// The addends of a row of results, one row of them for C and one for each k.
struct Addends {
  double at[kMostK + 1][kColumns];
  unsigned terms = 0;
};

/// Zeros, infinities and NaN.
inline float sum_without_units(const Addends& addends, unsigned column) {
  double sum = addends.at[0][column];
  for (unsigned i = 1; i < addends.terms; ++i) sum += addends.at[i][column];
  return static_cast<float>(sum);
}

inline void sum_truncated(const Addends& addends, float* d) {
  double largest[kColumns] = {}, special[kColumns] = {};
  for (unsigned i = 0; i < addends.terms; ++i) {
    for (unsigned j = 0; j < kColumns; ++j) {
      const double magnitude = __builtin_fabs(addends.at[i][j]);
      largest[j] = magnitude > largest[j] ? magnitude : largest[j];
      special[j] += addends.at[i][j] * 0.0;
    }
  }
  // 23 bits of fraction and two: the unit is 2^(exponent - 25). Products of floats are far from the
  // ends of double's range, so that both powers of two are normal.
  constexpr std::uint64_t kExponent = 0x7FF0000000000000;
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  constexpr std::uint64_t kBits = std::uint64_t{25} << 52;
  double unit[kColumns], to_units[kColumns], sums[kColumns] = {};
  for (unsigned j = 0; j < kColumns; ++j) {
    const std::uint64_t bits = (std::bit_cast<std::uint64_t>(largest[j]) & kExponent) - kBits;
    unit[j] = std::bit_cast<double>(bits);
    to_units[j] = std::bit_cast<double>(2 * kOne - bits);
  }
  for (unsigned i = 0; i < addends.terms; ++i) {
    for (unsigned j = 0; j < kColumns; ++j) {
      // Below 2^26, unless the column is special.
      const double units = special[j] == 0 ? addends.at[i][j] * to_units[j] : 0;
      sums[j] += static_cast<std::int32_t>(units);
    }
  }
  for (unsigned j = 0; j < kColumns; ++j) {
    const bool has_units = special[j] == 0 && largest[j] != 0;
    d[j] = has_units ? cut_to_float(sums[j] * unit[j]) : sum_without_units(addends, j);
  }
}

inline void sum_truncated(const Product& product) {
  Addends addends;
  addends.terms = product.k + 1;
  for (unsigned row = 0; row < product.rows; ++row) {
    const float* a = product.a + std::size_t{row} * product.k;
    float* d = product.d + std::size_t{row} * kColumns;
    for (unsigned j = 0; j < kColumns; ++j) addends.at[0][j] = d[j];
    for (unsigned i = 0; i < product.k; ++i) {
      const double factor = a[i];
      const float* b = product.b + std::size_t{i} * kColumns;
      for (unsigned j = 0; j < kColumns; ++j) addends.at[i + 1][j] = factor * b[j];
    }
    sum_truncated(addends, d);
  }
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
