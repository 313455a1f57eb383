// An element a thread.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/ids.h"
#include "backends/cuda/kernels/add_id.h"

using namespace shunt::cuda::gpu;

namespace {

template <class X, class B>
DEVICE void compute(const AddIdArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor y = tensor_of(p.y, run);
  if (is_idle(y)) return;
  const Tensor x = tensor_of(p.x, run), b = tensor_of(p.b, run);
  const Ids ids = ids_of(p.ids, run);
  for_each_element(y, [&](i64 i, RowIndex at) {
    const i64 id = checked_id(p.common, ids, at.i1, at.i2, 0, b.n[1]);
    if (id < 0) return;
    const float bias = load<B>(row_at(b, id, 0, 0), i, b.stride[0]);
    store<X>(row_at(y, at), i, y.stride[0], load<X>(row_at(x, at), i, x.stride[0]) + bias);
  });
}

}  // namespace

#define ADD_ID(X, B)                          \
  KERNEL void add_id_##X##_##B(AddIdArgs p) { \
    compute<X, B>(p);                         \
  }
FOR_SINGLE_PAIRS(ADD_ID)
