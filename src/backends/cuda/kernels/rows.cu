// Rows by their numbers: a row a block.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/rows.h"

using namespace shunt::cuda::gpu;

namespace {

template <class Id>
DEVICE i64 id_at(const Tensor& ids, i64 i0, i64 i1, i64 i2) {
  return *(const Id*)(ids.data + i0 * ids.stride[0] + i1 * ids.stride[1] + i2 * ids.stride[2]);
}

/// False, with a fault reported, unless there is such a row.
DEVICE bool check(const Common& common, i64 id, i64 rows) {
  if (id >= 0 && id < rows) return true;
  if (thread() == 0) report(*common.run, common.node, kIndexOutOfRange, id, rows);
  return false;
}

template <class To, class From, class Id>
DEVICE void set_rows(const SetRowsArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor rows = tensor_of(p.rows, run);
  if (block() >= count_rows(rows)) return;
  const Tensor ids = tensor_of(p.ids, run);
  const Tensor y = tensor_of(p.y, run);
  for (i64 row = block(); row < count_rows(rows); row += blocks()) {
    const RowIndex at = row_index(rows, row);
    const i64 id = id_at<Id>(ids, at.i1, at.i2 % ids.n[1], at.i3 % ids.n[2]);
    if (!check(p.common, id, y.n[1])) return;
    const u8* from = row_at(rows, at);
    for (i64 i = thread(); i < y.n[0]; i += threads())
      store<To>(row_at(y, id, at.i2, at.i3), i, y.stride[0], load<From>(from, i, rows.stride[0]));
  }
}

}  // namespace

#define SET_ROWS(TO, FROM)                                  \
  KERNEL void set_rows_##TO##_##FROM##_I32(SetRowsArgs p) { \
    set_rows<TO, FROM, i32>(p);                             \
  }                                                         \
  KERNEL void set_rows_##TO##_##FROM##_I64(SetRowsArgs p) { \
    set_rows<TO, FROM, i64>(p);                             \
  }
FOR_SINGLE_PAIRS(SET_ROWS)
