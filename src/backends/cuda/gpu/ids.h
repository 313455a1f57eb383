// Numbers of rows and experts, I32 or I64.
#pragma once

#include "backends/cuda/gpu/tensors.h"

namespace shunt::cuda::gpu {

struct Ids {
  Tensor tensor;
  bool wide;  ///< I64
};
DEVICE Ids ids_of(const IdsArg& arg, const Run& run) {
  return {tensor_of(arg.tensor, run), arg.wide != 0};
}

DEVICE i64 id_at(const Ids& ids, i64 i0, i64 i1, i64 i2) {
  const i64* strides = ids.tensor.stride;
  const u8* at = ids.tensor.data + i0 * strides[0] + i1 * strides[1] + i2 * strides[2];
  return ids.wide ? *(const i64*)at : *(const i32*)at;
}
/// The id at a place. One that is not at least 0 and below `count` is reported, and -1 returned.
DEVICE i64 checked_id(const Common& common, const Ids& ids, i64 i0, i64 i1, i64 i2, i64 count) {
  const i64 id = id_at(ids, i0, i1, i2);
  return expect_index(common, id, count) ? id : -1;
}

}  // namespace shunt::cuda::gpu
