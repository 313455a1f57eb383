// Sums of rows by their numbers. After the result is cleared, a thread adds up one column of all
// rows. With few columns, a warp adds up one row of the result. The order of each sum is that of
// the rows.
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

/// The same for up to kWarp columns: a warp looks for its row among kWarp numbers at a time, and a
/// lane has a column. The result need not be cleared.
KERNEL void get_rows_back_few(GetRowsBackArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run), dy = tensor_of(p.dy, run);
  const Ids ids = ids_of(p.ids, run);
  for (i64 row = block() * warps() + warp(); row < y.n[1]; row += blocks() * warps()) {
    float sum = 0;
    for (i64 first = 0; first < dy.n[1]; first += kWarp) {
      const bool there = first + lane() < dy.n[1];
      const i64 id = there ? id_at(ids, first + lane(), 0, 0) : 0;
      const u32 wrong = ballot(there && (id < 0 || id >= y.n[1]));
      if (wrong != 0) {
        if (lane() == first_bit(wrong)) expect_index(p.common, id, y.n[1]);
        return;
      }
      for (u32 rest = ballot(there && id == row); rest != 0; rest &= rest - 1) {
        if (lane() >= y.n[0]) continue;
        const u8* from = row_at(dy, first + first_bit(rest), 0, 0);
        sum += *(const float*)(from + lane() * dy.stride[0]);
      }
    }
    if (lane() < y.n[0]) ((float*)row_at(y, row, 0, 0))[lane()] = sum;
  }
}
