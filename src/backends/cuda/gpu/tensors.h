// Tensors at the sizes of a run.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

DEVICE i64 size_of(const Size& size, const Run& run) {
  return size.factor == 0 ? size.fixed : size.factor * run.dims[size.dim];
}

struct Tensor {
  u8* data;
  i64 n[kDims];
  i64 stride[kDims];
};

DEVICE Tensor tensor_of(const TensorArg& arg, const Run& run) {
  Tensor tensor;
  tensor.data = arg.data;
  for (int d = 0; d < kDims; ++d) {
    tensor.n[d] = size_of(arg.sizes[d], run);
    tensor.stride[d] = arg.strides[d];
  }
  return tensor;
}

DEVICE i64 count_rows(const Tensor& tensor) {
  return tensor.n[1] * tensor.n[2] * tensor.n[3];
}

/// The place of a row.
struct RowIndex {
  i64 i1, i2, i3;
};
DEVICE RowIndex row_index(const Tensor& tensor, i64 row) {
  const i64 matrix = row / tensor.n[1];
  return {row % tensor.n[1], matrix % tensor.n[2], matrix / tensor.n[2]};
}
DEVICE u8* row_at(const Tensor& tensor, i64 i1, i64 i2, i64 i3) {
  return tensor.data + i1 * tensor.stride[1] + i2 * tensor.stride[2] + i3 * tensor.stride[3];
}
DEVICE u8* row_at(const Tensor& tensor, RowIndex at) {
  return row_at(tensor, at.i1, at.i2, at.i3);
}

/// f(element, row) for all elements of a tensor, an element a thread.
template <class F>
DEVICE void for_each_element(const Tensor& tensor, const F& f) {
  const i64 count = tensor.n[0] * count_rows(tensor);
  for (i64 e = block() * threads() + thread(); e < count; e += blocks() * threads())
    f(e % tensor.n[0], row_index(tensor, e / tensor.n[0]));
}
/// Whether a block has no element in it. Most blocks of a small step return by this, before they
/// look at other tensors.
DEVICE bool is_idle(const Tensor& tensor) {
  return block() * threads() >= tensor.n[0] * count_rows(tensor);
}

/// Whether an earlier kernel of the stream found a fault: then this one does nothing.
DEVICE bool is_stopped(const Run& run) {
  return *(const volatile u32*)&run.stopped != 0;
}

/// Reports a fault of this kernel; the first one of a stream counts.
DEVICE void report(Run& run, u64 node, FaultCode code, i64 value, i64 bound) {
  *(volatile u32*)&run.stopped = 1;
  if (compare_and_swap(run.stop, 0, 1) != 0) return;
  FaultRecord& record = *run.record;
  record.node = (u32)node;
  record.value = value;
  record.bound = bound;
  record.task = run.task;
  fence_system();
  *(volatile u32*)&record.code = code;
}
/// Whether an index is at least 0 and below a bound; else reports it.
DEVICE bool expect_index(const Common& common, i64 value, i64 bound) {
  if (value >= 0 && value < bound) return true;
  report(*common.run, common.node, kIndexOutOfRange, value, bound);
  return false;
}

}  // namespace shunt::cuda::gpu
