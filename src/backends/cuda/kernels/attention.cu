// Attention over one matrix of keys: a block for a head of a token.
#include "backends/cuda/gpu/attention.h"
#include "backends/cuda/kernels/attention.h"

using namespace shunt::cuda::gpu;

KERNEL void attention(AttentionArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const AttentionInputs& in = p.in;
  if (block() >= count_queries(tensor_of(in.y, run))) return;
  const AttentionTensors t = tensors_of(in, run);
  for (i64 item = block(); item < count_queries(t.y); item += blocks()) {
    AttentionQuery query = query_of(t.y, item);
    query.end = t.k.n[2];
    const float slope = slope_of(in.max_bias, t.q.n[1], query.head);
    const u8* mask = mask_row(t.mask, query);
    attend(
        in, t, query, [](i64 n) { return n; }, [&](i64 n) { return slope * mask_at(in, mask, n); });
  }
}
