// Recurrences over tokens. Each output channel v of a head has a row of the state, whose elements
// k the op sums over. A warp walks over the tokens of a sequence with such a row: lanes share its
// elements.
#include "backends/cuda/gpu/math.h"
#include "backends/cuda/gpu/sequences.h"
#include "backends/cuda/gpu/warp.h"
#include "backends/cuda/kernels/recurrence.h"

using namespace shunt::cuda::gpu;

namespace {

/// A row of the state and its sequence.
struct Walk {
  const RecurrenceArgs& p;
  i64 head, row, column;
};

DEVICE float f32_at(const u8* at) {
  return *(const float*)at;
}
/// Element k of a source [.., H, T, S].
DEVICE float at(const Walk& walk, int source, i64 k, i64 head, i64 t) {
  const TensorArg& from = walk.p.sources[source];
  return f32_at(from.data + k * from.strides[0] + head * from.strides[1] + t * from.strides[2] +
                walk.column * from.strides[3]);
}
DEVICE float at(const Walk& walk, int source, i64 k, i64 t) {
  return at(walk, source, k, walk.head, t);
}
/// Element k of a source [.., H].
DEVICE float of_head(const Walk& walk, int source, i64 k) {
  const TensorArg& from = walk.p.sources[source];
  return f32_at(from.data + k * from.strides[0] + walk.head * from.strides[1]);
}
/// The head of a source [.., G, T, S] that this head reads.
DEVICE i64 group_of(const Walk& walk, int source) {
  return walk.head / (walk.p.states.sizes[2].fixed / walk.p.sources[source].sizes[1].fixed);
}
DEVICE bool is_single(const Walk& walk, int source) {
  return walk.p.sources[source].sizes[0].fixed == 1;
}

/// Rows up to kStatePerLane elements a lane.
struct RegisterState {
  float elements[kStatePerLane];
  u8* memory;
  i64 n, stride;
};
template <class F>
DEVICE void for_each(RegisterState& state, const F& f) {
  for (int i = 0; i < kStatePerLane; ++i) {
    const i64 k = lane() + i * kWarp;
    if (k < state.n) f(k, state.elements[i]);
  }
}
DEVICE void finish(RegisterState& state) {
  for_each(state, [&](i64 k, float value) { *(float*)(state.memory + k * state.stride) = value; });
}

/// Rows of any length, where the result has them.
struct MemoryState {
  u8* memory;
  i64 n, stride;
};
template <class F>
DEVICE void for_each(MemoryState& state, const F& f) {
  for (i64 k = lane(); k < state.n; k += kWarp) f(k, *(float*)(state.memory + k * state.stride));
}
DEVICE void finish(MemoryState&) {}

// An op: whether the elements of a row come first in the states, and a token's step, which returns
// the output.

/// Sources x, dt, a, b, c.
struct SsmScan {
  static constexpr bool kRowsAreContiguous = true;
  template <class State>
  DEVICE float step(const Walk& walk, State& state, i64 t) {
    const TensorArg& dt = walk.p.sources[1];
    const float size = softplus(f32_at(dt.data + walk.head * dt.strides[0] + t * dt.strides[1] +
                                       walk.column * dt.strides[2]));
    const float taken = size * at(walk, 0, walk.row, t);
    const i64 group = group_of(walk, 3);
    const bool single = is_single(walk, 2);
    float y = 0;
    for_each(state, [&](i64 k, float& element) {
      const float decay = exp(size * of_head(walk, 2, single ? 0 : k));
      element = decay * element + taken * at(walk, 3, k, group, t);
      y += at(walk, 4, k, group, t) * element;
    });
    return warp_reduce<add>(y);
  }
};

/// Sources r, w, k, v, u.
struct RwkvWkv6 {
  static constexpr bool kRowsAreContiguous = false;
  template <class State>
  DEVICE float step(const Walk& walk, State& state, i64 t) {
    const float value = at(walk, 3, walk.row, t);
    float y = 0;
    for_each(state, [&](i64 k, float& element) {
      const float product = at(walk, 2, k, t) * value;
      y += at(walk, 0, k, t) * (element + of_head(walk, 4, k) * product);
      element = at(walk, 1, k, t) * element + product;
    });
    return warp_reduce<add>(y);
  }
};

/// Sources r, w, k, v, a, b.
struct RwkvWkv7 {
  static constexpr bool kRowsAreContiguous = true;
  template <class State>
  DEVICE float step(const Walk& walk, State& state, i64 t) {
    float removed = 0;
    for_each(state, [&](i64 k, float element) { removed += at(walk, 4, k, t) * element; });
    removed = warp_reduce<add>(removed);
    const float value = at(walk, 3, walk.row, t);
    float y = 0;
    for_each(state, [&](i64 k, float& element) {
      element =
          at(walk, 1, k, t) * element + at(walk, 2, k, t) * value + at(walk, 5, k, t) * removed;
      y += at(walk, 0, k, t) * element;
    });
    return warp_reduce<add>(y);
  }
};

/// Sources q, k, v, gate.
struct GatedLinearAttn {
  static constexpr bool kRowsAreContiguous = false;
  template <class State>
  DEVICE float step(const Walk& walk, State& state, i64 t) {
    const float value = at(walk, 2, walk.row, t);
    float y = 0;
    for_each(state, [&](i64 k, float& element) {
      element = at(walk, 3, k, t) * element + at(walk, 1, k, t) * value;
      y += at(walk, 0, k, t) * element;
    });
    return walk.p.scale * warp_reduce<add>(y);
  }
};

/// Sources q, k, v, gate, beta.
struct GatedDeltaNet {
  static constexpr bool kRowsAreContiguous = true;
  template <class State>
  DEVICE float step(const Walk& walk, State& state, i64 t) {
    const i64 group = group_of(walk, 1);
    const bool single = is_single(walk, 3);
    float found = 0;
    for_each(state, [&](i64 k, float& element) {
      element *= exp(at(walk, 3, single ? 0 : k, t));
      found += at(walk, 1, k, group, t) * element;
    });
    found = warp_reduce<add>(found);
    const float change = at(walk, 4, 0, t) * (at(walk, 2, walk.row, t) - found);
    float y = 0;
    for_each(state, [&](i64 k, float& element) {
      element += at(walk, 1, k, group, t) * change;
      y += at(walk, 0, k, group, t) * element;
    });
    return walk.p.scale * warp_reduce<add>(y);
  }
};

/// Of the states, [K, V, H, R] or [V, K, H, R].
struct StateSizes {
  i64 k, v, heads;
};

/// The result's row of outputs for a token.
DEVICE u8* outputs_at(const Walk& walk, i64 t) {
  return walk.p.y.data + t * walk.p.y.strides[1] + walk.column * walk.p.y.strides[2];
}

template <class Op, class State>
DEVICE void walk_over(const Walk& walk, const StateSizes& sizes, const SequenceTokens& tokens,
                      i64 first_state, i64 place) {
  const TensorArg& states = walk.p.states;
  const i64 elements = sizes.k * sizes.v;
  const i64 stride = Op::kRowsAreContiguous ? 1 : sizes.v;
  const i64 first = Op::kRowsAreContiguous ? walk.row * sizes.k : walk.row;
  State state;
  state.memory = outputs_at(walk, walk.p.output_rows) +
                 ((place * sizes.heads + walk.head) * elements + first) * (i64)sizeof(float);
  state.n = sizes.k;
  state.stride = stride * (i64)sizeof(float);
  const i64 k_stride = states.strides[Op::kRowsAreContiguous ? 0 : 1];
  const u8* from = states.data + walk.row * states.strides[Op::kRowsAreContiguous ? 1 : 0] +
                   walk.head * states.strides[2] + first_state * states.strides[3];
  for_each(state, [&](i64 k, float& element) { element = f32_at(from + k * k_stride); });
  const i64 channel = walk.head * sizes.v + walk.row;
  for (i64 t = tokens.first; t < tokens.end; ++t) {
    const float y = Op::step(walk, state, t);
    if (lane() == 0) *(float*)(outputs_at(walk, t) + channel * walk.p.y.strides[0]) = y;
  }
  finish(state);
}

DEVICE void clear_outputs(const Walk& walk, const StateSizes& sizes, const SequenceTokens& tokens) {
  const i64 channel = walk.head * sizes.v + walk.row;
  for (i64 t = tokens.first + lane(); t < tokens.end; t += kWarp)
    *(float*)(outputs_at(walk, t) + channel * walk.p.y.strides[0]) = 0;
}

template <class Op, class State>
DEVICE void compute(const RecurrenceArgs& p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Size* n = p.states.sizes;
  const StateSizes sizes = Op::kRowsAreContiguous ? StateSizes{n[0].fixed, n[1].fixed, n[2].fixed}
                                                  : StateSizes{n[1].fixed, n[0].fixed, n[2].fixed};
  const Sequences all = {ids_of(p.ids, run),
                         tensor_of(p.ends, run),
                         p.given,
                         size_of(p.sources[0].sizes[2], run),
                         size_of(p.sources[0].sizes[3], run),
                         size_of(p.states.sizes[3], run)};
  const i64 items = count_with_idle(all) * sizes.heads * sizes.v;
  for (i64 item = block() * warps() + warp(); item < items; item += blocks() * warps()) {
    const i64 s = item / sizes.v / sizes.heads;
    SequenceTokens tokens;
    if (!find_tokens(p.common, all, s, tokens)) return;
    const Walk walk = {p, item / sizes.v % sizes.heads, item % sizes.v, tokens.column};
    if (is_idle_sequence(all, s)) {
      clear_outputs(walk, sizes, tokens);
      continue;
    }
    const i64 first_state = find_state(p.common, all, s);
    if (first_state < 0) return;
    walk_over<Op, State>(walk, sizes, tokens, first_state, p.given.ends != 0 ? s : 0);
  }
}

}  // namespace

#define RECURRENCE(NAME, OP)                       \
  KERNEL void NAME##_registers(RecurrenceArgs p) { \
    compute<OP, RegisterState>(p);                 \
  }                                                \
  KERNEL void NAME##_memory(RecurrenceArgs p) {    \
    compute<OP, MemoryState>(p);                   \
  }
RECURRENCE(ssm_scan, SsmScan)
RECURRENCE(rwkv_wkv6, RwkvWkv6)
RECURRENCE(rwkv_wkv7, RwkvWkv7)
RECURRENCE(gated_linear_attn, GatedLinearAttn)
RECURRENCE(gated_delta_net, GatedDeltaNet)
