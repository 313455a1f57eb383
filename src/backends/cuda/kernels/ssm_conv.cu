// Causal convolution of channels: an element of the outputs or of the new states a thread.
#include "backends/cuda/gpu/sequences.h"
#include "backends/cuda/kernels/ssm_conv.h"

using namespace shunt::cuda::gpu;

namespace {

DEVICE float at(const Tensor& tensor, i64 i0, i64 i1, i64 i2 = 0) {
  return *(const float*)(tensor.data + i0 * tensor.stride[0] + i1 * tensor.stride[1] +
                         i2 * tensor.stride[2]);
}

/// The sequence of a token; the number after the last one if it is of none.
DEVICE i64 sequence_of(const Sequences& all, i64 token, i64 column) {
  if (all.given.ends == 0) return column;
  i64 s = 0;
  while (s < all.ends.n[0] && token >= end_at(all, s)) ++s;
  return s;
}

/// The inputs of a channel in a sequence: those of its state, then x.
struct Inputs {
  const Tensor& x;
  const Tensor& states;
  i64 channel, state, kept;  ///< `kept`: inputs in a state
  SequenceTokens tokens;
};
DEVICE float input(const Inputs& z, i64 i) {
  return i < z.kept ? at(z.states, z.channel, i, z.state)
                    : at(z.x, z.channel, z.tokens.first + i - z.kept, z.tokens.column);
}

/// The first block looks at all ends and ids, also where no output depends on them.
DEVICE void check_all(const Common& common, const Sequences& all) {
  for (i64 s = thread(); s < count_sequences(all); s += threads()) {
    SequenceTokens tokens;
    if (!find_tokens(common, all, s, tokens) || find_state(common, all, s) < 0) return;
  }
}

}  // namespace

KERNEL void ssm_conv(SsmConvArgs p) {
  const Run& run = *p.common.run;
  if (is_stopped(run)) return;
  const Tensor x = tensor_of(p.x, run), w = tensor_of(p.w, run);
  const Tensor states = tensor_of(p.states, run), y = tensor_of(p.y, run);
  const Sequences all = {ids_of(p.ids, run), tensor_of(p.ends, run), p.given, x.n[1], x.n[2],
                         states.n[2]};
  const i64 taps = w.n[0], kept = taps - 1, channels = x.n[0];
  const i64 in_column = all.given.ends != 0 ? all.ends.n[0] : 1;  // sequences
  const i64 rows = all.tokens + in_column * kept;
  if (block() == 0) check_all(p.common, all);
  const i64 count = channels * rows * all.columns;
  for (i64 e = block() * threads() + thread(); e < count; e += blocks() * threads()) {
    const i64 channel = e % channels, row = e / channels % rows, column = e / channels / rows;
    const i64 state_row = row - all.tokens;  // at least 0: of a new state
    const i64 s = state_row < 0 ? sequence_of(all, row, column)
                                : (all.given.ends != 0 ? state_row / kept : column);
    float value = 0;
    if (!is_idle_sequence(all, s)) {
      Inputs z = {x, states, channel, find_state(p.common, all, s), kept, {}};
      if (z.state < 0 || !find_tokens(p.common, all, s, z.tokens)) return;
      if (state_row < 0) {
        for (i64 k = 0; k < taps; ++k)
          value += at(w, k, channel) * input(z, row - z.tokens.first + k);
      } else {
        value = input(z, z.tokens.end - z.tokens.first + state_row % kept);
      }
    }
    const i64 to = state_row < 0 ? row : p.output_rows + state_row;
    *(float*)(row_at(y, to, column, 0) + channel * y.stride[0]) = value;
  }
}
