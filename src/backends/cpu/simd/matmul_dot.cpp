#include "backends/cpu/simd/matmul.h"

#include <algorithm>

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/matmul_dot.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes this file once for each target.
#include "backends/cpu/simd/dispatch.h"
#include "backends/cpu/simd/formats-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace shunt::cpu::simd::HWY_NAMESPACE {

void DotRows(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows, const float* x,
             std::size_t x_stride, std::size_t columns, std::size_t k, float* y,
             std::size_t y_stride);

#if SHUNT_COMPILED_HERE

/// Memory is prefetched this number of bytes ahead.
constexpr std::size_t kAhead = 2048;

/// Sums of R rows and C columns: two vectors each, which take turns, so that there are enough
/// independent sums to keep the multipliers busy.
template <int R, int C>
struct Sums {
  V v[R][C][2];
  HWY_INLINE Sums() {}  // the implicit one lacks NEON's target
};

template <int R, int C, class Block>
HWY_INLINE void add_block(Sums<R, C>& sums, int r, const Block& block, const float* x,
                          std::size_t x_stride) {
  HWY_UNROLL(32)
  for (std::size_t j = 0; j < kBlock / kLanes; ++j) {
    const V w = block.vector(j);
    HWY_UNROLL(4)
    for (int c = 0; c < C; ++c) {
      const V vx = hn::LoadU(D(), x + static_cast<std::size_t>(c) * x_stride + j * kLanes);
      sums.v[r][c][j % 2] = hn::MulAdd(w, vx, sums.v[r][c][j % 2]);
    }
  }
}

template <class Format, int R, int C>
void dot_tile(const std::byte* w, std::size_t w_stride, const float* x, std::size_t x_stride,
              std::size_t k, float* y, std::size_t y_stride) {
  Sums<R, C> sums;
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int c = 0; c < C; ++c) sums.v[r][c][0] = sums.v[r][c][1] = hn::Zero(D());
  }
  const std::size_t blocks = k / kBlock;
  for (std::size_t b = 0; b < blocks; ++b) {
    HWY_UNROLL(4)
    for (int r = 0; r < R; ++r) {
      const std::byte* from = w + static_cast<std::size_t>(r) * w_stride + b * Format::kBytes;
      HWY_UNROLL(2)
      for (std::size_t line = 0; line < Format::kBytes; line += 64) {
        hwy::Prefetch(from + kAhead + line);
      }
      add_block<R, C>(sums, r, Format::load(from), x + b * kBlock, x_stride);
    }
  }
  if constexpr (Format::kPlain) {
    if (const std::size_t rest = k % kBlock; rest != 0) {
      alignas(64) float tail[C][kBlock];
      for (int c = 0; c < C; ++c) {
        const float* column = x + static_cast<std::size_t>(c) * x_stride + blocks * kBlock;
        for (std::size_t i = 0; i < kBlock; ++i) tail[c][i] = i < rest ? column[i] : 0.0F;
      }
      HWY_UNROLL(4)
      for (int r = 0; r < R; ++r) {
        alignas(64) std::byte copy[Format::kBytes];
        const std::byte* from =
            w + static_cast<std::size_t>(r) * w_stride + blocks * Format::kBytes;
        add_block<R, C>(sums, r, load_tail<Format>(from, rest, copy), tail[0], kBlock);
      }
    }
  }
  HWY_UNROLL(4)
  for (int r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (int c = 0; c < C; ++c) {
      y[static_cast<std::size_t>(c) * y_stride + static_cast<std::size_t>(r)] =
          hn::GetLane(hn::SumOfLanes(D(), hn::Add(sums.v[r][c][0], sums.v[r][c][1])));
    }
  }
}

template <class Format, int C>
void dot_columns(const std::byte* w, std::size_t w_stride, std::size_t rows, const float* x,
                 std::size_t x_stride, std::size_t k, float* y, std::size_t y_stride) {
  // 6 to 8 sums at once.
  constexpr int R = C == 1 ? 4 : C == 2 ? 2 : 1;
  std::size_t r = 0;
  for (; r + R <= rows; r += R) {
    dot_tile<Format, R, C>(w + r * w_stride, w_stride, x, x_stride, k, y + r, y_stride);
  }
  for (; r < rows; ++r) {
    dot_tile<Format, 1, C>(w + r * w_stride, w_stride, x, x_stride, k, y + r, y_stride);
  }
}

template <class Format>
void dot_format(const std::byte* w, std::size_t w_stride, std::size_t rows, const float* x,
                std::size_t x_stride, std::size_t columns, std::size_t k, float* y,
                std::size_t y_stride) {
  for (std::size_t c = 0; c < columns; c += kDotColumns) {
    const float* from = x + c * x_stride;
    float* to = y + c * y_stride;
    switch (columns - c) {
      case 1:
        dot_columns<Format, 1>(w, w_stride, rows, from, x_stride, k, to, y_stride);
        break;
      case 2:
        dot_columns<Format, 2>(w, w_stride, rows, from, x_stride, k, to, y_stride);
        break;
      case 3:
        dot_columns<Format, 3>(w, w_stride, rows, from, x_stride, k, to, y_stride);
        break;
      default:
        dot_columns<Format, 4>(w, w_stride, rows, from, x_stride, k, to, y_stride);
        break;
    }
  }
}

void DotRows(DType type, const std::byte* w, std::size_t w_stride, std::size_t rows, const float* x,
             std::size_t x_stride, std::size_t columns, std::size_t k, float* y,
             std::size_t y_stride) {
  switch (type) {
    case DType::kF16:
      return dot_format<F16>(w, w_stride, rows, x, x_stride, columns, k, y, y_stride);
    case DType::kBF16:
      return dot_format<BF16>(w, w_stride, rows, x, x_stride, columns, k, y, y_stride);
    case DType::kQ8_0:
      return dot_format<Q8_0>(w, w_stride, rows, x, x_stride, columns, k, y, y_stride);
    case DType::kQ4_0:
      return dot_format<Q4_0>(w, w_stride, rows, x, x_stride, columns, k, y, y_stride);
    default:
      return dot_format<F32>(w, w_stride, rows, x, x_stride, columns, k, y, y_stride);
  }
}

#endif  // SHUNT_COMPILED_HERE

}  // namespace shunt::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !defined(SHUNT_ONE_TARGET)
namespace shunt::cpu::simd {

HWY_EXPORT(DotRows);

namespace {

bool is_decoded_in_registers(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 ||
         type == DType::kQ8_0 || type == DType::kQ4_0;
}

/// Each row a piece at a time: decoded, multiplied, added to the sums of the pieces before.
void dot_decoded_rows(Level level, const DTypeTrait& type, const std::byte* w, std::size_t w_stride,
                      std::size_t rows, const float* x, std::size_t x_stride, std::size_t columns,
                      std::size_t k, float* y, std::size_t y_stride) {
  constexpr std::size_t kPiece = 1024;  // whole blocks of every type
  const std::size_t piece_bytes =
      kPiece / static_cast<std::size_t>(type.block_elements) * type.block_bytes;
  float piece[kPiece];
  float sums[kDotColumns];
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) y[r + c * y_stride] = 0.0F;
    const std::byte* from = w + r * w_stride;
    for (std::size_t first = 0; first < k; first += kPiece, from += piece_bytes) {
      const std::size_t count = std::min(kPiece, k - first);
      type.decode(from, piece, static_cast<std::int64_t>(count));
      for (std::size_t c = 0; c < columns; c += kDotColumns) {
        const std::size_t together = std::min<std::size_t>(kDotColumns, columns - c);
        SHUNT_DISPATCH(level, DotRows)
        (DType::kF32, reinterpret_cast<const std::byte*>(piece), 0, 1, x + c * x_stride + first,
         x_stride, together, count, sums, 1);
        for (std::size_t i = 0; i < together; ++i) y[r + (c + i) * y_stride] += sums[i];
      }
    }
  }
}

}  // namespace

void dot_rows(Level level, DType type, const std::byte* w, std::int64_t w_stride, std::int64_t rows,
              const float* x, std::int64_t x_stride, std::int64_t columns, std::int64_t k, float* y,
              std::int64_t y_stride) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (!is_decoded_in_registers(type)) {
    return dot_decoded_rows(level, trait(type), w, size(w_stride), size(rows), x, size(x_stride),
                            size(columns), size(k), y, size(y_stride));
  }
  SHUNT_DISPATCH(level, DotRows)
  (type, w, size(w_stride), size(rows), x, size(x_stride), size(columns), size(k), y,
   size(y_stride));
}

}  // namespace shunt::cpu::simd
#endif  // HWY_ONCE
