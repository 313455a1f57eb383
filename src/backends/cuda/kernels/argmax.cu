// The place of the largest element of a row: a row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/reduce.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/argmax.h"

using namespace shunt::cuda::gpu;

namespace {

struct Found {
  float value;
  i32 index;
};
constexpr i32 kNowhere = -1;

/// The larger one, the first of equals. One that is not a number counts as it comes.
DEVICE Found larger(Found a, Found b) {
  if (b.index == kNowhere) return a;
  if (a.index == kNowhere || b.value > a.value) return b;
  return b.value == a.value && b.index < a.index ? b : a;
}

template <class T>
DEVICE void compute(const ArgmaxArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  if (block() >= count_rows(x)) return;
  const Tensor y = tensor_of(p.y, run);
  for (i64 row = block(); row < count_rows(x); row += blocks()) {
    const RowIndex at = row_index(x, row);
    Found found = {0, kNowhere};
    for (i64 i = thread(); i < x.n[0]; i += threads())
      found = larger(found, {load<T>(row_at(x, at), i, x.stride[0]), (i32)i});
    found = block_reduce(found, {0, kNowhere}, [](Found a, Found b) { return larger(a, b); });
    if (thread() == 0) {
      u8* to = y.data + at.i1 * y.stride[0] + at.i2 * y.stride[1] + at.i3 * y.stride[2];
      *(i32*)to = found.index;
    }
  }
}

}  // namespace

#define ARGMAX(T)                        \
  KERNEL void argmax_##T(ArgmaxArgs p) { \
    compute<T>(p);                       \
  }
FOR_SINGLE_TYPES(ARGMAX)
