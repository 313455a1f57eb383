// A destination at the sizes of a run.
#pragma once

#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/destination.h"

namespace shunt::cuda::gpu {

struct Target {
  Tensor y;  ///< starts at the window
  Ids ids;
  i64 rows;  ///< of y
};

DEVICE Target target_of(const Destination& arg, const Run& run) {
  Target target = {tensor_of(arg.y, run), ids_of(arg.ids, run), 0};
  for (int d = 0; d < kDims; ++d) target.y.data += size_of(arg.start[d], run) * target.y.stride[d];
  target.rows = target.y.n[1];
  return target;
}

/// The row that a row is written to. Null, with a fault reported, if there is none of its number.
DEVICE u8* row_of(const Common& common, const Target& target, RowIndex at) {
  const Tensor& ids = target.ids.tensor;
  if (ids.data == nullptr) return row_at(target.y, at);
  const i64 id =
      checked_id(common, target.ids, at.i1, at.i2 % ids.n[1], at.i3 % ids.n[2], target.rows);
  return id < 0 ? nullptr : row_at(target.y, id, at.i2, at.i3);
}

/// A tensor of these sizes without data.
DEVICE Tensor shape_of(const Size (&sizes)[kDims], const Run& run) {
  Tensor shape = {};
  for (int d = 0; d < kDims; ++d) shape.n[d] = size_of(sizes[d], run);
  return shape;
}

}  // namespace shunt::cuda::gpu
