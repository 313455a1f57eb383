// Mean 0 and variance 1: a row or a group of channels a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/row_norms.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/norm.h"

using namespace shunt::cuda::gpu;

namespace {

/// write(i, (x - mean) / sqrt(variance + eps)), where x = read(i), for i below n. The mean is
/// taken off twice: the first, of numbers far from 0, is only as exact as they are. Differences
/// from the first element make elements that are all the same exactly 0.
/// False where F32 has no room for the squares.
template <class Number, class Read, class Write>
DEVICE bool standardize_in(i64 n, float eps, const Read& read, const Write& write) {
  const Number count = (Number)n, first = n > 0 ? read(0) : 0;
  Number sum = 0;
  for (i64 i = thread(); i < n; i += threads()) sum += read(i) - first;
  const Number mean = first + block_sum(sum) / count;
  Number rest = 0, squares = 0;
  for (i64 i = thread(); i < n; i += threads()) {
    const Number difference = read(i) - mean;
    rest += difference;
    squares += difference * difference;
  }
  squares = block_sum(squares);
  if (!has_room_for(squares)) return false;
  const Number second = block_sum(rest) / count;
  Number variance = squares / count - second * second;
  if (variance < 0) variance = 0;
  const Number deviation = sqrt(variance + eps);
  for (i64 i = thread(); i < n; i += threads())
    write(i, deviation == 0 ? 0 : (float)((read(i) - mean - second) / deviation));
  return true;
}
template <class Read, class Write>
DEVICE void standardize(i64 n, float eps, const Read& read, const Write& write) {
  compute_with_room(
      [&](auto number) { return standardize_in<decltype(number)>(n, eps, read, write); });
}

template <class T>
DEVICE void norm(const NormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 n = size_of(p.y.sizes[0], run);
  for_each_row<T>(p.x, p.y, run,
                  [&](const auto& read, const auto& write) { standardize(n, p.eps, read, write); });
}

template <class T>
DEVICE void group_norm(const NormArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  const i64 groups = (i64)p.groups, channels = y.n[2] / groups;
  if (block() >= groups * y.n[3]) return;
  const Tensor x = tensor_of(p.x, run);
  for (i64 item = block(); item < groups * y.n[3]; item += blocks()) {
    const i64 first = item % groups * channels, image = item / groups;
    const auto row = [&](const Tensor& tensor, i64 i) {
      const i64 row = i / y.n[0];
      return row_at(tensor, row % y.n[1], first + row / y.n[1], image);
    };
    standardize(
        y.n[0] * y.n[1] * channels, p.eps,
        [&](i64 i) { return load<T>(row(x, i), i % y.n[0], x.stride[0]); },
        [&](i64 i, float value) { store<T>(row(y, i), i % y.n[0], y.stride[0], value); });
  }
}

}  // namespace

#define NORM(T)                            \
  KERNEL void norm_##T(NormArgs p) {       \
    norm<T>(p);                            \
  }                                        \
  KERNEL void group_norm_##T(NormArgs p) { \
    group_norm<T>(p);                      \
  }
FOR_SINGLE_TYPES(NORM)
