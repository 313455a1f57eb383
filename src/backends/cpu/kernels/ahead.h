// Asking for the memory of weights that are worked on next, while others are multiplied.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Bytes of some rows, or of some groups of rows that are interleaved.
struct Stretch {
  const std::byte* first = nullptr;
  std::int64_t bytes = 0;
  std::int64_t count = 0;   ///< such runs of `bytes` bytes
  std::int64_t stride = 0;  ///< from one to the next

  /// Elements [k, end) of `rows` rows of w, from w.data on.
  static Stretch of(const TensorArg& w, std::int64_t rows, std::int64_t k, std::int64_t end) {
    const DTypeTrait& type = trait(w.dtype);
    const std::int64_t begin = k / type.block_elements * w.strides[0];
    const std::int64_t bytes = (end - k) / type.block_elements * w.strides[0];
    if (!w.has_lanes) return {w.data + begin, bytes, rows, w.strides[1]};
    return {w.data + kGroupRows * begin, kGroupRows * bytes, ceil_div(rows, kGroupRows),
            kGroupRows * w.strides[1]};
  }
  /// The stretch that is multiplied after the elements up to `k`, `depth` at a time: the next
  /// elements of these rows, or the first ones of the rows that follow.
  static Stretch after(const TensorArg& w, std::int64_t rows, std::int64_t k, std::int64_t depth) {
    const std::int64_t end = w.sizes[0];
    if (k < end) return of(w, rows, k, std::min(end, k + depth));
    TensorArg next = w;
    next.data += rows * w.strides[1];
    return of(next, rows, 0, std::min(end, depth));
  }

  /// Brings part [begin, end) of `parts` into the L2 cache. A stretch that does not exist does no
  /// harm.
  void ask(std::int64_t begin, std::int64_t end, std::int64_t parts) const {
    constexpr std::int64_t kLine = 64;
    const std::int64_t lines = ceil_div(bytes, kLine);
    for (std::int64_t i = lines * count * begin / parts; i < lines * count * end / parts; ++i) {
      __builtin_prefetch(first + i / lines * stride + i % lines * kLine, 0, 2);
    }
  }
};

}  // namespace shunt::cpu
