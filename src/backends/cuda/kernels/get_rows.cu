// Rows by their numbers: an element a thread, or a group of elements where the table has blocks.
#include "backends/cuda/gpu/block_formats.h"
#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/kernels/get_rows.h"

using namespace shunt::cuda::gpu;

namespace {

/// f(from, i, to, stride): writes elements i to i + kCount - 1 of a row of the table, which is
/// `from`, to the row `to`.
template <int kCount, class F>
DEVICE void get_rows(const GetRowsArgs& p, F f) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  Tensor y = tensor_of(p.y, run);
  y.n[0] /= kCount;
  if (is_idle(y)) return;
  const Tensor table = tensor_of(p.table, run);
  const Ids ids = ids_of(p.ids, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const i64 id = checked_id(p.common, ids, at.i1, at.i2, at.i3, table.n[1]);
    if (id >= 0) f(row_at(table, id, at.i2, at.i3), i * kCount, row_at(y, at), table.stride[0]);
  });
}

template <class T>
DEVICE void copy_elements(const GetRowsArgs& p) {
  get_rows<1>(p, [](const u8* from, i64 i, u8* to, i64 stride) {
    ((T*)to)[i] = *(const T*)(from + i * stride);
  });
}
template <class Elements>
DEVICE void decode_elements(const GetRowsArgs& p) {
  get_rows<Elements::kCount>(p, [](const u8* from, i64 i, u8* to, i64 stride) {
    float values[Elements::kCount];
    Elements::read(from, i, stride, values);
    for (int k = 0; k < Elements::kCount; ++k) ((float*)to)[i + k] = values[k];
  });
}

}  // namespace

#define GET_ROWS(NAME, COMPUTE)                \
  KERNEL void get_rows_##NAME(GetRowsArgs p) { \
    COMPUTE(p);                                \
  }
GET_ROWS(1, copy_elements<u8>)
GET_ROWS(2, copy_elements<u16>)
GET_ROWS(4, copy_elements<u32>)
GET_ROWS(8, copy_elements<u64>)
GET_ROWS(F16, decode_elements<Single<F16>>)
GET_ROWS(BF16, decode_elements<Single<BF16>>)
#define GET_ROWS_BLOCKS(T) GET_ROWS(T, decode_elements<Group<T>>)
FOR_BLOCK_FORMATS(GET_ROWS_BLOCKS)
