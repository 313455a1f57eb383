// Sums of rows by their numbers. After the result is cleared, a thread adds up one column of all
// rows. So the order of each sum is that of the rows.
#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/kernels/get_rows_back.h"

using namespace shunt::cuda::gpu;

KERNEL void get_rows_back_clear(GetRowsBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  for_each_element(y, [&](i64 i, RowIndex at) { ((float*)row_at(y, at))[i] = 0; });
}

KERNEL void get_rows_back_add(GetRowsBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run), dy = tensor_of(p.dy, run);
  const Ids ids = ids_of(p.ids, run);
  for (i64 c = block() * threads() + thread(); c < y.n[0]; c += blocks() * threads()) {
    for (i64 i = 0; i < dy.n[1]; ++i) {
      const i64 row = checked_id(p.common, ids, i, 0, 0, y.n[1]);
      if (row < 0) return;
      ((float*)row_at(y, row, 0, 0))[c] += *(const float*)(row_at(dy, i, 0, 0) + c * dy.stride[0]);
    }
  }
}
