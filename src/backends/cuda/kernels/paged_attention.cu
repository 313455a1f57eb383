// Attention over a cache in blocks: a block of threads for a head of a token. Each warp takes every
// kWarps-th key, and keeps the largest score, the sum of weights and the weighted sum of values.
// The warps' parts are added in order.
#include "backends/cuda/gpu/formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/paged_attention.h"

using namespace shunt::cuda::gpu;

namespace {

constexpr int kWarps = kAttentionThreads / (int)kWarp;
constexpr int kPerLane = kMostHeadSize / (int)kWarp;

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
  for (i64 s = 0; s < sequences.n[1]; ++s) {
    const i64 end = int_at(sequences, 0, s);
    if (token < end) {
      const i64 keys = int_at(sequences, 1, s);
      return {int_at(sequences, 2, s), keys, keys - end + token};
    }
  }
  return {0, 0, 0};
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

DEVICE float slope_of(float max_bias, i64 heads, i64 head) {
  if (max_bias == 0) return 1;
  i64 n = 1;
  while (2 * n <= heads) n *= 2;
  const i64 halves = head < n ? 2 * (head + 1) : 2 * (head - n) + 1;
  return exp(-0.693147181f * max_bias * (float)halves / (float)(2 * n));
}

/// Whether a number is at least 0 and below a bound; else reports it.
DEVICE bool expect(const PagedAttentionArgs& p, i64 value, i64 bound) {
  if (value >= 0 && value < bound) return true;
  report(*p.common.run, p.common.node, kIndexOutOfRange, value, bound);
  return false;
}

/// Whether a sequence's tokens, keys, blocks and columns of the mask are there.
DEVICE bool check_sequence(const PagedAttentionArgs& p, i64 s) {
  const Run& run = *p.common.run;
  const Tensor q = tensor_of(p.q, run), k = tensor_of(p.k, run);
  const Tensor sequences = tensor_of(p.sequences, run), table = tensor_of(p.table, run);
  const i64 begin = s == 0 ? 0 : int_at(sequences, 0, s - 1);
  const i64 end = int_at(sequences, 0, s), keys = int_at(sequences, 1, s);
  const i64 first = int_at(sequences, 2, s);
  if (!expect(p, end, q.n[2] + 1) || !expect(p, begin, end + 1)) return false;
  if (!expect(p, end - begin, keys + 1)) return false;
  if (p.mask.data != nullptr && !expect(p, keys, size_of(p.mask.sizes[0], run) + 1)) return false;
  const i64 entries = (keys + p.block - 1) / p.block;
  if (!expect(p, first, table.n[0] - entries + 1)) return false;
  for (i64 i = 0; i < entries; ++i) {
    const i64 rest = keys - i * p.block, used = rest < p.block ? rest : p.block;
    const i64 row = (i64)int_at(table, first + i, 0) * p.block;
    if (!expect(p, row, k.n[2] - used + 1)) return false;
  }
  return true;
}

/// What some keys give: the largest score, and relative to that the sum of weights.
struct Part {
  float largest, sum;
};
DEVICE Part no_part() {
  return {-__builtin_inff(), 0};
}

template <class K, class V>
DEVICE void compute(const PagedAttentionArgs& p) {
  SHARED float values[kWarps][kMostHeadSize];
  SHARED Part parts[kWarps];
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor q = tensor_of(p.q, run);
  if (block() >= q.n[1] * q.n[2]) return;
  const Tensor k = tensor_of(p.k, run), v = tensor_of(p.v, run);
  const Tensor sequences = tensor_of(p.sequences, run), table = tensor_of(p.table, run);
  const Tensor mask = tensor_of(p.mask, run), sinks = tensor_of(p.sinks, run);
  const Tensor y = tensor_of(p.y, run);
  const i64 heads = q.n[1];
  for (i64 item = block(); item < heads * q.n[2]; item += blocks()) {
    const i64 head = item % heads, token = item / heads;
    const i64 kv_head = head / (heads / k.n[1]);
    const Place at = find(sequences, token);
    const Keys seen = at.keys == 0 ? Keys{0, 0} : span_of(p, at);
    const float slope = slope_of(p.max_bias, heads, head);
    Part part = no_part();
    float sums[kPerLane] = {};
    for (i64 n = seen.first + warp(); n < seen.end; n += kWarps) {
      const i64 entry = at.first_entry + n / p.block;
      const i64 row = (i64)int_at(table, entry, 0) * p.block + n % p.block;
      const u8* query = row_at(q, head, token, 0);
      const u8* key = row_at(k, kv_head, row, 0);
      float dot = 0;
      for (i64 d = lane(); d < q.n[0]; d += kWarp)
        dot += load<F32>(query, d, q.stride[0]) * load<K>(key, d, k.stride[0]);
      float score = warp_reduce<add>(dot) * p.scale;
      if (p.softcap != 0) score = p.softcap * tanh(score / p.softcap);
      float bias = 0;
      if (mask.data != nullptr) {
        const u8* mask_row = row_at(mask, token, head % mask.n[2], 0);
        bias = p.f16_mask != 0 ? load<F16>(mask_row, n, mask.stride[0])
                               : load<F32>(mask_row, n, mask.stride[0]);
      }
      if (p.max_bias > 0) bias -= (float)(at.position > n ? at.position - n : n - at.position);
      score += slope * bias;
      // Not-a-number is the largest, and stays.
      const float most = score > part.largest || score != score ? score : part.largest;
      if (most == -__builtin_inff()) continue;
      const float kept = exp(part.largest - most), weight = exp(score - most);
      part = {most, part.sum * kept + weight};
      const u8* value = row_at(v, kv_head, row, 0);
      for (int i = 0; i < kPerLane; ++i) {
        if (i * kWarp >= v.n[0]) continue;  // not "break": the loop is unrolled, for registers
        const i64 d = lane() + i * kWarp;
        if (d < v.n[0]) sums[i] = sums[i] * kept + weight * load<V>(value, d, v.stride[0]);
      }
    }
    barrier();  // the threads have read the parts of the item before
    for (int i = 0; i < kPerLane; ++i) {
      if (i * kWarp >= v.n[0]) continue;
      values[warp()][lane() + i * kWarp] = sums[i];
    }
    if (lane() == 0) parts[warp()] = part;
    barrier();
    Part whole = no_part();
    if (sinks.data != nullptr) {
      whole = {*(const float*)(sinks.data + head * sinks.stride[0]), 1};
      if (whole.largest == -__builtin_inff()) whole.sum = 0;
    }
    const float sink = whole.largest;
    for (int w = 0; w < kWarps; ++w) {
      const float score = parts[w].largest;
      if (score > whole.largest || score != score) whole.largest = score;
    }
    const bool nothing = whole.largest == -__builtin_inff();
    whole.sum = nothing || whole.sum == 0 ? 0 : exp(sink - whole.largest);
    float factors[kWarps];
    for (int w = 0; w < kWarps; ++w) {
      factors[w] = nothing || parts[w].sum == 0 ? 0 : exp(parts[w].largest - whole.largest);
      whole.sum += parts[w].sum * factors[w];
    }
    for (i64 d = thread(); d < y.n[0]; d += threads()) {
      float value = 0;
      for (int w = 0; w < kWarps; ++w) value += values[w][d] * factors[w];
      *(float*)(row_at(y, head, token, 0) + d * y.stride[0]) = nothing ? 0 : value / whole.sum;
    }
  }
}

}  // namespace

/// A sequence a thread, before the attention itself.
KERNEL void paged_attention_check(PagedAttentionArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const i64 count = size_of(p.sequences.sizes[1], run);
  for (i64 s = block() * threads() + thread(); s < count; s += blocks() * threads()) {
    if (!check_sequence(p, s)) return;
  }
}

#define PAGED_ATTENTION(K, V)                                   \
  KERNEL void paged_attention_##K##_##V(PagedAttentionArgs p) { \
    compute<K, V>(p);                                           \
  }
FOR_SINGLE_PAIRS(PAGED_ATTENTION)
