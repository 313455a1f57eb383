// Attention of one head of a token, which a block of threads computes in one pass over the keys.
// A warp takes kWarp keys at a time, and a lane has the score of one. It keeps the largest score,
// the sum of weights relative to that, and the weighted sum of values. The warps' parts are added
// in order.
#pragma once

#include "backends/cuda/gpu/alibi.h"
#include "backends/cuda/gpu/attention_inputs.h"
#include "backends/cuda/gpu/block_formats.h"
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/gpu/warp.h"

namespace shunt::cuda::gpu {

inline constexpr int kAttentionWarps = kAttentionThreads / (int)kWarp;
/// A warp has groups of lanes. A group reads a row of keys or values at a time.
inline constexpr int kGroupLanes = 8;
inline constexpr int kLaneGroups = (int)kWarp / kGroupLanes;
DEVICE int lane_of_group() {
  return (int)lane() % kGroupLanes;
}
DEVICE int lane_group() {
  return (int)lane() / kGroupLanes;
}
/// The keys of a group of lanes, null where one is hidden, and a lane's parts of their products.
using KeyRows = const u8* [kGroupLanes];
using KeySums = float[kGroupLanes];
/// Adds the parts of a group's lanes. Lane r gets the product of key r.
template <int kHalf = kGroupLanes / 2>
DEVICE float dot_of_lane(KeySums& parts) {
  const bool upper = (lane_of_group() & kHalf) != 0;
  for (int r = 0; r < kHalf; ++r) {
    const float low = parts[r], high = parts[r + kHalf];
    parts[r] = (upper ? high : low) + shuffle_xor(upper ? low : high, kHalf);
  }
  if constexpr (kHalf > 1) return dot_of_lane<kHalf / 2>(parts);
  return parts[0];
}

/// The sums of weighted values that a lane has.
inline constexpr int kSumsPerLane = kValuePart / kGroupLanes;
using ValueSums = float[kSumsPerLane];

/// f(i) for the sums i, i + 1, .. of n values, Rows::kRun of them at a time. Nested conditions end
/// early where values are few.
template <class Rows, int kFirst = 0, class F>
DEVICE void for_each_run(i64 n, const F& f) {
  if (kFirst * kGroupLanes >= n) return;
  f(kFirst);
  if constexpr (kFirst + Rows::kRun < kSumsPerLane) for_each_run<Rows, kFirst + Rows::kRun>(n, f);
}

/// Rows of single elements: neighbouring lanes have neighbours.
template <class T>
struct PlainRows {
  static constexpr int kRun = 1;
  /// The value of sum i.
  DEVICE i64 place(int i) { return lane_of_group() + i * kGroupLanes; }
  /// Adds this lane's part of the products of a query with keys, of n elements, to `dots`.
  DEVICE void add_products(KeySums& dots, const u8* query, i64 query_stride, const KeyRows& keys,
                           i64 stride, i64 n) {
    for (i64 d = lane_of_group(); d < n; d += kGroupLanes) {
      const float q = load<F32>(query, d, query_stride);
#pragma unroll
      for (int r = 0; r < kGroupLanes; ++r)
        if (keys[r] != nullptr) dots[r] += q * load<T>(keys[r], d, stride);
    }
  }
  /// Adds the weighted values from `first` on, n of them.
  DEVICE void add_values(ValueSums& sums, float weight, const u8* row, i64 stride, i64 first,
                         i64 n) {
    const u8* at = row + (first + lane_of_group()) * stride;
    for_each_run<PlainRows>(n, [&](int i) ALWAYS_INLINE {
      if (place(i) < n) sums[i] += weight * load<T>(at, i * kGroupLanes, stride);
    });
  }
};

/// Rows of blocks: a lane has whole groups of elements.
template <class Format>
struct BlockRows {
  static constexpr int kRun = kGroup;
  DEVICE i64 place(int i) {
    return i / kGroup * kGroupLanes * kGroup + lane_of_group() * kGroup + i % kGroup;
  }
  DEVICE void add_products(KeySums& dots, const u8* query, i64 query_stride, const KeyRows& keys,
                           i64, i64 n) {
    for (i64 d = lane_of_group() * kGroup; d < n; d += kGroupLanes * kGroup) {
      float q[kGroup];
      for (int i = 0; i < kGroup; ++i) q[i] = load<F32>(query, d + i, query_stride);
#pragma unroll
      for (int r = 0; r < kGroupLanes; ++r) {
        if (keys[r] == nullptr) continue;
        float k[kGroup];
        decode<Format>(keys[r], d, k);
        for (int i = 0; i < kGroup; ++i) dots[r] += q[i] * k[i];
      }
    }
  }
  DEVICE void add_values(ValueSums& sums, float weight, const u8* row, i64, i64 first, i64 n) {
    for_each_run<BlockRows>(n, [&](int i) ALWAYS_INLINE {
      if (place(i) >= n) return;
      float v[kGroup];
      decode<Format>(row, first + place(i), v);
      for (int j = 0; j < kGroup; ++j) sums[i + j] += weight * v[j];
    });
  }
};

/// f(rows) with the rows of a type. All threads take the same branch.
template <class F>
DEVICE void with_rows(u64 type, const F& f) {
  switch (type) {
    case kCacheF32:
      return f(PlainRows<F32>{});
    case kCacheF16:
      return f(PlainRows<F16>{});
    case kCacheBF16:
      return f(PlainRows<BF16>{});
    case kCacheQ8_0:
      return f(BlockRows<Q8_0>{});
    case kCacheQ4_0:
      return f(BlockRows<Q4_0>{});
  }
}

/// A head of a token, and the keys that it sees: [first, end).
struct AttentionQuery {
  i64 head, token, column;
  i64 value_part;  ///< the number of the part of the values
  i64 first, end;
};

/// Of keys: the largest score, and relative to that the sum of weights.
struct AttentionPart {
  float largest, sum;
};

/// The tensors at the sizes of a run.
struct AttentionTensors {
  Tensor q, k, v, mask, sinks, y;
};
DEVICE AttentionTensors tensors_of(const AttentionInputs& in, const Run& run) {
  return {tensor_of(in.q, run),    tensor_of(in.k, run),     tensor_of(in.v, run),
          tensor_of(in.mask, run), tensor_of(in.sinks, run), tensor_of(in.y, run)};
}
DEVICE i64 count_value_parts(const Tensor& y) {
  return (y.n[0] + kValuePart - 1) / kValuePart;
}
/// Items of work: a part of the values of a head of a token.
DEVICE i64 count_queries(const Tensor& y) {
  return count_value_parts(y) * count_rows(y);
}
/// Without the keys.
DEVICE AttentionQuery query_of(const Tensor& y, i64 item) {
  const i64 parts = count_value_parts(y);
  const RowIndex at = row_index(y, item / parts);
  return {at.i1, at.i2, at.i3, item % parts, 0, 0};
}

/// The mask of a query; null if there is none.
DEVICE const u8* mask_row(const Tensor& mask, const AttentionQuery& query) {
  if (mask.data == nullptr) return nullptr;
  return row_at(mask, query.token, query.head % mask.n[2], query.column % mask.n[3]);
}
/// The mask's value for key n, or 0.
DEVICE float mask_at(const AttentionInputs& in, const u8* row, i64 n) {
  if (row == nullptr) return 0;
  const i64 stride = in.mask.strides[0];
  return in.f16_mask != 0 ? load<F16>(row, n, stride) : load<F32>(row, n, stride);
}

/// The weighted sum of the values of a warp's keys, not divided yet. A group of lanes has its part.
/// `row_of(n)`: the row of key n. `bias_of(n)`: an addend of its score. Minus infinity hides it.
template <class RowOf, class BiasOf>
DEVICE AttentionPart attend_part(const AttentionInputs& in, const AttentionTensors& t,
                                 const AttentionQuery& query, const RowOf& row_of,
                                 const BiasOf& bias_of, ValueSums& sums) {
  const float kHidden = -__builtin_inff();
  const i64 of_group = t.q.n[1] / t.k.n[1];  // heads
  const u8* q = row_at(t.q, query.head, query.token, query.column);
  const u8* keys = row_at(t.k, query.head / of_group, 0, query.column);
  const u8* values = row_at(t.v, query.head / of_group, 0, query.column);
  const i64 first_value = query.value_part * kValuePart;
  AttentionPart part = {-__builtin_inff(), 0};
  for (i64 tile = query.first + warp() * kWarp; tile < query.end; tile += kAttentionThreads) {
    // Key r of a group is that of its lane r. It has key 0, then the one kLaneGroups further.
    const i64 rest = query.end - tile;
    const int rounds = rest < kWarp ? (int)(rest + kLaneGroups - 1) / kLaneGroups : kGroupLanes;
    const i64 n = tile + lane_of_group() * kLaneGroups + lane_group();
    const float bias = n < query.end ? bias_of(n) : kHidden;
    if (warp_reduce<largest_or_nan>(bias) == kHidden) continue;
    const bool hidden = bias == kHidden;
    const i64 row = hidden ? -1 : row_of(n);
    KeyRows key_rows;
    for (int r = 0; r < kGroupLanes; ++r) {
      const i64 of = shuffle(row, (u32)(lane_group() * kGroupLanes + r));
      key_rows[r] = of < 0 ? nullptr : keys + of * t.k.stride[2];
    }
    KeySums dots = {};
    with_rows(in.k_type, [&](auto rows) {
      rows.add_products(dots, q, t.q.stride[0], key_rows, t.k.stride[0], t.q.n[0]);
    });
    float score = dot_of_lane(dots) * in.scale;
    if (in.softcap != 0) score = in.softcap * tanh(score / in.softcap);
    score = hidden ? kHidden : score + bias;
    const float largest = largest_or_nan(part.largest, warp_reduce<largest_or_nan>(score));
    // Scores may all be minus infinity without a mask: weights of 0 keep a not-a-number of values.
    const float base = largest == kHidden ? 0 : largest;
    const float kept = exp(part.largest - base);
    const float weight = hidden ? 0 : exp(score - base);
    part = {largest, part.sum * kept + weight};
    for (int i = 0; i < kSumsPerLane; ++i) sums[i] *= kept;
    with_rows(in.v_type, [&](auto rows) {
      for (int round = 0; round < rounds; ++round) {
        const u32 from = (u32)(lane_group() * kGroupLanes + round);
        const i64 of = shuffle(row, from);
        const float by = shuffle(weight, from);
        if (of < 0) continue;
        rows.add_values(sums, by, values + of * t.v.stride[2], t.v.stride[0], first_value,
                        t.v.n[0] - first_value);
      }
    });
  }
  part.sum = warp_reduce<add>(part.sum);
  return part;
}

/// Adds the sums of a warp's groups of lanes, and writes those of n values.
template <class Rows>
DEVICE void write_sums(const ValueSums& sums, i64 n, float* to) {
  for_each_run<Rows>(n, [&](int first) ALWAYS_INLINE {
    for (int i = first; i < first + Rows::kRun; ++i) {
      float sum = sums[i];
      for (u32 mask = kGroupLanes; mask < kWarp; mask *= 2) sum += shuffle_xor(sum, mask);
      if (lane_group() == 0 && Rows::place(i) < n) to[Rows::place(i)] = sum;
    }
  });
}

/// Writes the result of a query. All threads of the block must call it.
template <class RowOf, class BiasOf>
DEVICE void attend(const AttentionInputs& in, const AttentionTensors& t,
                   const AttentionQuery& query, const RowOf& row_of, const BiasOf& bias_of) {
  SHARED float values[kAttentionWarps][kValuePart];
  SHARED AttentionPart parts[kAttentionWarps];
  ValueSums sums = {};
  const AttentionPart part = attend_part(in, t, query, row_of, bias_of, sums);
  const i64 first = query.value_part * kValuePart;
  const i64 count = t.v.n[0] - first < kValuePart ? t.v.n[0] - first : kValuePart;
  barrier();  // the threads have read the parts of the query before
  with_rows(in.v_type, [&](auto rows) { write_sums<decltype(rows)>(sums, count, values[warp()]); });
  if (lane() == 0) parts[warp()] = part;
  barrier();
  const bool has_sink = t.sinks.data != nullptr;
  const float sink =
      has_sink ? load<F32>(t.sinks.data, query.head, t.sinks.stride[0]) : -__builtin_inff();
  const AttentionPart of_lane = parts[lane() % kAttentionWarps];
  const float largest = largest_or_nan(sink, warp_reduce<largest_or_nan>(of_lane.largest));
  const bool nothing = largest == -__builtin_inff();
  const float factor = nothing ? 0 : exp(of_lane.largest - largest);
  float sum = has_sink && !nothing ? exp(sink - largest) : 0;
  float factors[kAttentionWarps];
  for (u32 w = 0; w < kAttentionWarps; ++w) {
    factors[w] = shuffle(factor, w);
    sum += shuffle(of_lane.sum, w) * factors[w];
  }
  u8* to = row_at(t.y, query.head, query.token, query.column);
  for (i64 d = thread(); d < count; d += threads()) {
    float value = 0;
    for (int w = 0; w < kAttentionWarps; ++w) value += values[w][d] * factors[w];
    store<F32>(to, first + d, t.y.stride[0], nothing ? 0 : value / sum);
  }
}

}  // namespace shunt::cuda::gpu
