// Rows of blocks, and the changes to values and weights before an encoder sees them, so that it
// need not handle numbers that are not finite.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/formats/lanes.h"

namespace shunt::formats {

template <class F>
concept EncodesPlainly = requires(const float* values, std::byte* block) {
  F::encode(values, block);
};
template <class F>
concept EncodesWeighted = requires(const float* values, std::byte* block) {
  F::encode(values, values, block);
};

template <class F>
inline constexpr auto kElementsOf = static_cast<std::size_t>(F::kElements);

template <class F>
void decode_rows(const std::byte* from, float* to, std::int64_t n) {
  for (; n > 0; n -= F::kElements, from += F::kBytes, to += F::kElements) F::decode(from, to);
}

/// Numbers of a block that lanes can be loaded from.
template <std::size_t N>
struct alignas(kLanesAlign) BlockValues : std::array<float, N> {};

/// A block's values: not-a-number is taken as 0, and a number far beyond the format's range as its
/// end.
template <class F>
BlockValues<kElementsOf<F>> finite_values(const float* values) {
  // 1e9 is more than any format with a scale of F16 reaches, and its square far from overflow.
  constexpr float kLargest = std::max(1e9f, F::kLargest);
  BlockValues<kElementsOf<F>> finite;
  for (std::size_t i = 0; i < finite.size(); ++i) {
    finite[i] = std::isnan(values[i]) ? 0.0f : std::clamp(values[i], -kLargest, kLargest);
  }
  return finite;
}

/// A block's weights: brought to at most 1, negative ones and not-a-number to 0; all 1 if nothing
/// is left.
template <std::size_t N>
BlockValues<N> clean_weights(const float* weights) {
  BlockValues<N> clean;
  float largest = 0.0f;
  for (std::size_t i = 0; i < N; ++i) {
    clean[i] = std::clamp(weights[i], 0.0f, std::numeric_limits<float>::max());
    if (std::isnan(clean[i])) clean[i] = 0.0f;
    largest = std::max(largest, clean[i]);
  }
  for (float& weight : clean) weight = largest > 0.0f ? weight / largest : 1.0f;
  return clean;
}

/// All weights alike.
template <std::size_t N>
BlockValues<N> equal_weights() {
  BlockValues<N> ones;
  ones.fill(1.0f);
  return ones;
}

template <EncodesPlainly F>
void encode_rows(const float* from, std::byte* to, std::int64_t n) {
  for (; n > 0; n -= F::kElements, from += F::kElements, to += F::kBytes) {
    F::encode(finite_values<F>(from).data(), to);
  }
}

template <EncodesWeighted F>
void encode_rows_weighted(const float* from, const float* weights, std::byte* to, std::int64_t n) {
  for (; n > 0; n -= F::kElements, from += F::kElements, weights += F::kElements, to += F::kBytes) {
    F::encode(finite_values<F>(from).data(), clean_weights<kElementsOf<F>>(weights).data(), to);
  }
}

/// All values matter alike.
template <EncodesWeighted F>
requires(!EncodesPlainly<F>) void encode_rows(const float* from, std::byte* to, std::int64_t n) {
  const auto ones = equal_weights<kElementsOf<F>>();
  for (; n > 0; n -= F::kElements, from += F::kElements, to += F::kBytes) {
    F::encode(finite_values<F>(from).data(), ones.data(), to);
  }
}

}  // namespace shunt::formats
