// Elements in other places: a word a thread.
#include "backends/cuda/gpu/destination.h"
#include "backends/cuda/gpu/words.h"
#include "backends/cuda/kernels/move_args.h"

using namespace shunt::cuda::gpu;

namespace {

/// The place in n elements of x for place i of the result; below 0 or at least n: there is none.
DEVICE i64 place_of(u64 mode, i64 i, i64 before, i64 n) {
  if (mode == kMoveCircular) {
    const i64 place = (i - before % n) % n;
    return place < 0 ? place + n : place;
  }
  const i64 place = i - before;
  if (mode != kMoveReflected) return place;
  if (place < 0) return -place;
  return place < n ? place : 2 * (n - 1) - place;
}

template <class Word>
DEVICE void compute(const MoveArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 words = (i64)p.words;
  Tensor shape = shape_of(p.sizes, run);
  shape.n[0] *= words;
  if (is_idle(shape)) return;
  const Tensor x = tensor_of(p.x, run);
  const Target to = target_of(p.to, run);
  for_each_element(shape, [&](i64 i, RowIndex at) {
    u8* row = row_of(p.common, to, at);
    if (row == nullptr) return;
    const i64 unit = i / words, word = i % words;
    const i64 places[kDims] = {
        place_of(p.mode, unit, p.before[0], x.n[0]), place_of(p.mode, at.i1, p.before[1], x.n[1]),
        place_of(p.mode, at.i2, p.before[2], x.n[2]), place_of(p.mode, at.i3, p.before[3], x.n[3])};
    bool inside = true;
    for (int d = 0; d < kDims; ++d) inside &= places[d] >= 0 && places[d] < x.n[d];
    Word value = (Word)p.constant;
    if (inside) {
      const u8* from = row_at(x, places[1], places[2], places[3]) + places[0] * x.stride[0];
      value = ((const Word*)from)[word];
    }
    ((Word*)(row + unit * to.y.stride[0]))[word] = value;
  });
}

}  // namespace

#define MOVE(BYTES, WORD)                \
  KERNEL void move_##BYTES(MoveArgs p) { \
    compute<WORD>(p);                    \
  }
FOR_WORDS(MOVE)
