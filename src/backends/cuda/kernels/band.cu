// A band of each matrix, and a constant elsewhere: an element a thread.
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/words.h"
#include "backends/cuda/kernels/band.h"

using namespace shunt::cuda::gpu;

namespace {

template <class Word>
DEVICE void compute(const BandArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const i64 diagonal = i - at.i1;
    Word value = (Word)p.constant;
    if (diagonal >= p.low && diagonal <= p.high)
      value = *(const Word*)(row_at(x, at) + i * x.stride[0]);
    *(Word*)(row_at(y, at) + i * y.stride[0]) = value;
  });
}

}  // namespace

#define BAND(BYTES, WORD)                \
  KERNEL void band_##BYTES(BandArgs p) { \
    compute<WORD>(p);                    \
  }
FOR_WORDS(BAND)
