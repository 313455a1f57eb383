// Attention over a cache in blocks: a block of threads for a head of a token.
#include "backends/cuda/gpu/attention.h"
#include "backends/cuda/kernels/paged_attention.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE i32 int_at(const Tensor& tensor, i64 i0, i64 i1) {
  return *(const i32*)(tensor.data + i0 * tensor.stride[0] + i1 * tensor.stride[1]);
}

/// A token's sequence: its first entry in the table, its keys, the token's position. A token of no
/// sequence has no keys.
struct Place {
  i64 first_entry, keys, position;
};
/// paged_attention_check() has seen that ends ascend.
DEVICE Place find(const Tensor& sequences, i64 token) {
  i64 s = 0, after = sequences.n[1];  // the first sequence that ends behind the token
  while (s < after) {
    const i64 middle = (s + after) / 2;
    if (token < int_at(sequences, 0, middle)) {
      after = middle;
    } else {
      s = middle + 1;
    }
  }
  if (s == sequences.n[1]) return {0, 0, 0};
  const i64 keys = int_at(sequences, 1, s);
  return {int_at(sequences, 2, s), keys, keys - int_at(sequences, 0, s) + token};
}

struct Keys {
  i64 first, end;
};
DEVICE Keys span_of(const PagedAttentionArgs& p, const Place& at) {
  const i64 half = p.window / 2, next = at.position + 1;
  switch (p.span) {
    case kCausal:
      return {0, next};
    case kSlidingWindow:
      return {next > p.window ? next - p.window : 0, next};
    case kChunked:
      return {at.position / p.window * p.window, next};
    case kBidirectional:
      return {0, at.keys};
    default:
      return {at.position > half ? at.position - half : 0,
              at.keys < next + half ? at.keys : next + half};
  }
}

/// Reports where a sequence's tokens, keys, blocks or columns of the mask are not there. A warp
/// shares its entries in the table.
DEVICE void check_sequence(const PagedAttentionArgs& p, i64 s) {
  const Run& run = *p.common.run;
  const Tensor q = tensor_of(p.in.q, run), k = tensor_of(p.in.k, run);
  const Tensor sequences = tensor_of(p.sequences, run), table = tensor_of(p.table, run);
  const i64 begin = s == 0 ? 0 : int_at(sequences, 0, s - 1);
  const i64 end = int_at(sequences, 0, s), keys = int_at(sequences, 1, s);
  const i64 first = int_at(sequences, 2, s);
  if (!expect_index(p.common, end, q.n[2] + 1) || !expect_index(p.common, begin, end + 1)) return;
  if (!expect_index(p.common, end - begin, keys + 1)) return;
  if (p.in.has_mask != 0 && !expect_index(p.common, keys, size_of(p.in.mask.sizes[0], run) + 1))
    return;
  const i64 entries = (keys + p.block - 1) / p.block;
  if (!expect_index(p.common, first, table.n[0] - entries + 1)) return;
  for (i64 i = lane(); i < entries; i += kWarp) {
    const i64 rest = keys - i * p.block, used = rest < p.block ? rest : p.block;
    const i64 row = (i64)int_at(table, first + i, 0) * p.block;
    if (!expect_index(p.common, row, k.n[2] - used + 1)) return;
  }
}

}  // namespace

/// A sequence a warp, before the attention itself.
KERNEL void paged_attention_check(PagedAttentionArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 count = size_of(p.sequences.sizes[1], run);
  for (i64 s = block() * warps() + warp(); s < count; s += blocks() * warps()) check_sequence(p, s);
}

KERNEL void paged_attention(PagedAttentionArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const AttentionInputs& in = p.in;
  if (block() >= count_queries(tensor_of(in.y, run))) return;
  const AttentionTensors t = tensors_of(in, run);
  const Tensor sequences = tensor_of(p.sequences, run), table = tensor_of(p.table, run);
  for (i64 item = block(); item < count_queries(t.y); item += blocks()) {
    AttentionQuery query = query_of(t.y, item);
    const Place at = find(sequences, query.token);
    if (at.keys > 0) {
      const Keys seen = span_of(p, at);
      query.first = seen.first;
      query.end = seen.end;
    }
    const float slope = slope_of(in.max_bias, t.q.n[1], query.head);
    const u8* mask = mask_row(t.mask, query);
    attend(
        in, t, query,
        [&](i64 n) {
          return (i64)int_at(table, at.first_entry + n / p.block, 0) * p.block + n % p.block;
        },
        [&](i64 n) {
          float bias = mask_at(in, mask, n);
          if (in.max_bias > 0) bias -= (float)(at.position > n ? at.position - n : n - at.position);
          return slope * bias;
        });
  }
}
