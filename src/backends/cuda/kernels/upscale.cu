// Images of another size: an element a thread. Places and weights are in double precision.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/upscale.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE double cubic(double d, double a) {
  d = __builtin_fabs(d);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  if (d <= 2) return a * (d * d * d - 5 * d * d + 8 * d - 4);
  return 0;
}

DEVICE i64 floor_of(double value) {
  return (i64)__builtin_floor(value);
}
DEVICE i64 clamped(i64 i, i64 low, i64 high) {
  return i < low ? low : i > high ? high : i;
}

/// The elements first to end - 1 of n that make element i of m along a dimension. Those beyond the
/// outermost one are that one.
struct Taps {
  i64 first, end;
  double place;  ///< of the result among the elements
  double width;  ///< of the filter, in elements
  u64 mode;
  bool antialias;

  ON_DEVICE double weight(i64 j) const {
    if (mode == kNearest) return 1;
    const double d = (double)j - place;
    if (mode == kBicubic) return antialias ? cubic(d / width, -0.5) : cubic(d, -0.75);
    const double left = 1 - __builtin_fabs(d / width);
    return left > 0 ? left : 0;
  }
};

DEVICE Taps taps_of(const UpscaleArgs& p, i64 n, i64 m, i64 i) {
  Taps taps = {0, 0, 0, 1, p.mode, p.antialias != 0};
  if (p.mode == kNearest) {
    taps.first = i * n / m;
    taps.end = taps.first + 1;
    return taps;
  }
  const bool aligned = p.align_corners != 0;
  double s = (double)n / (double)m;
  if (aligned) s = m > 1 ? (double)(n - 1) / (double)(m - 1) : 0;
  if (taps.antialias) {
    const double c = s * ((double)i + 0.5);
    taps.width = s > 1 ? s : 1;
    const double reach = (p.mode == kBicubic ? 2 : 1) * taps.width;
    taps.place = c - 0.5;
    taps.first = clamped(floor_of(c - reach + 0.5), 0, n);
    taps.end = clamped(floor_of(c + reach + 0.5), 0, n);
    return taps;
  }
  taps.place = aligned ? (double)i * s : ((double)i + 0.5) * s - 0.5;
  if (p.mode == kBilinear && taps.place < 0) taps.place = 0;
  const i64 k = floor_of(taps.place);
  taps.first = p.mode == kBicubic ? k - 1 : k;
  taps.end = p.mode == kBicubic ? k + 3 : k + 2;
  return taps;
}

template <class T>
DEVICE void compute(const UpscaleArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const Taps columns = taps_of(p, x.n[0], y.n[0], i);
    const Taps rows = taps_of(p, x.n[1], y.n[1], at.i1);
    double sum = 0, row_weights = 0, column_weights = 0;
    for (i64 r = rows.first; r < rows.end; ++r) {
      const u8* row = row_at(x, clamped(r, 0, x.n[1] - 1), at.i2, at.i3);
      double of_row = 0;
      column_weights = 0;
      for (i64 c = columns.first; c < columns.end; ++c) {
        const double weight = columns.weight(c);
        of_row += weight * (double)load<T>(row, clamped(c, 0, x.n[0] - 1), x.stride[0]);
        column_weights += weight;
      }
      sum += rows.weight(r) * of_row;
      row_weights += rows.weight(r);
    }
    if (columns.antialias) sum /= row_weights * column_weights;
    store<T>(row_at(y, at), i, y.stride[0], (float)sum);
  });
}

}  // namespace

#define UPSCALE(T)                         \
  KERNEL void upscale_##T(UpscaleArgs p) { \
    compute<T>(p);                         \
  }
FOR_SINGLE_TYPES(UPSCALE)
