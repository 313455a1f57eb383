// Conversions to types of one element.
#include "backends/cuda/gpu/block_formats.h"
#include "backends/cuda/gpu/destination.h"
#include "backends/cuda/gpu/plain.h"
#include "backends/cuda/kernels/copy.h"

using namespace shunt::cuda::gpu;

namespace {

/// A group of elements a thread.
template <class Format>
DEVICE void decode_rows(const CopyArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  Tensor groups = tensor_of(p.x, run);
  groups.n[0] /= kGroup;
  if (is_idle(groups)) return;
  const Target to = target_of(p.to, run);
  for_each_element(groups, [&](i64 group, RowIndex at) {
    u8* row = row_of(p.common, to, at);
    if (row == nullptr) return;
    float values[kGroup];
    decode<Format>(row_at(groups, at), group * kGroup, values);
    for (int i = 0; i < kGroup; ++i)
      store_plain(p.y_type, row + (group * kGroup + i) * to.y.stride[0], values[i]);
  });
}

}  // namespace

/// An element a thread.
KERNEL void convert(CopyArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run);
  if (is_idle(x)) return;
  const Target to = target_of(p.to, run);
  for_each_element(x, [&](i64 i, RowIndex at) {
    u8* row = row_of(p.common, to, at);
    if (row == nullptr) return;
    convert_plain(p.x_type, row_at(x, at) + i * x.stride[0], p.y_type, row + i * to.y.stride[0]);
  });
}

#define DECODE(FORMAT)                      \
  KERNEL void decode_##FORMAT(CopyArgs p) { \
    decode_rows<FORMAT>(p);                 \
  }
FOR_BLOCK_FORMATS(DECODE)
