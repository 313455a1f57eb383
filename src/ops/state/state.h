/// \file
/// Recurrences over tokens: models that keep a state of fixed size instead of a cache that grows.
///
/// Each op walks the T tokens of S sequences, from a state for each sequence, and gives two things:
/// the outputs and the states after the last token. A node has one result, so both are in it: F32
/// [C, T + N, S]. For each sequence it has T rows of C output channels (T at its maximum), then the
/// N rows that its state takes. It is not one flat tensor, because T and S may be dynamic
/// dimensions. It is not written into the states, as steps that fail, or are taken back, must leave
/// them as they were. The builder functions return views of the two parts. To keep states, copy
/// them: cpy() into the cache's first S, or set_rows() by number, for which reshape() makes a row
/// of each.
///
/// States come from `states`: of sequence s, state number ids[s], or s itself without ids (then
/// there are S states). A run with a number that there is no state for fails.
///
/// With `ends`, a call takes sequences of different lengths (a variable-length batch). The sources
/// over tokens are then [.., T, 1]: the tokens of all sequences, one after the other. Sequence s
/// has the tokens from ends[s - 1] (0 for the first) to ends[s] - 1. S is the size of `ends`, and
/// the result is F32 [C, T + N * S, 1]: T rows of outputs (T at its maximum), then N rows for each
/// state. The outputs are [.., T, 1]. A sequence without tokens keeps its state. Tokens from the
/// last end on are of no sequence: their outputs are 0. The results of a sequence do not depend on
/// the others, to the bit. A run fails where ends decrease, are below 0 or beyond T.
#pragma once

#include "shunt/graph.h"

namespace shunt {

/// The result of a recurrence: views of one node's result.
struct Recurrence {
  Value outputs;
  Value states;  ///< after the last token; of the given states' shape, with S states
};

const Op& ssm_conv_op();
/// Causal convolution of each channel with K taps. With z the K - 1 inputs before the first token,
/// from the state, followed by x,
///   `y[d, t] = sum over k of w[k, d] * z[d, t + k]`.
/// The new state is the last K - 1 of z. There is no activation and no bias.
/// `x`: F32 [D, T, S].
/// `w`: F32 [K, D], K at least 1.
/// `states`: F32 [D, K - 1, R], oldest first. D, K and R are fixed.
/// `ids`, optional: I32 or I64 [S], from 0 to R - 1.
/// `ends`, optional: I32 [S].
/// The outputs are [D, T, S].
Result<Recurrence> ssm_conv(GraphBuilder& g, Operand x, Operand w, Operand states,
                            Operand ids = absent(), Operand ends = absent());

const Op& ssm_scan_op();
/// Selective state space (Mamba, arXiv 2312.00752; Mamba 2, arXiv 2405.21060). For each head h and
/// its channel p, with `step = ln(1 + exp(dt[h, t]))` and `g = h / (H / G)`:
///   `state[n, p] = exp(step * a[n, h]) * state[n, p] + step * b[n, g, t] * x[p, h, t]`,
///   `y[p, h, t] = sum over n of c[n, g, t] * state[n, p]`.
/// In Mamba 1 each channel is a head of its own (P is 1) and has an `a` for each n. In Mamba 2 a
/// head has a single `a`.
/// `x`: F32 [P, H, T, S].
/// `dt`: F32 [H, T, S], with its bias.
/// `a`: F32 [N, H], or [1, H] for the same at every n; below 0 in models (not its logarithm).
/// `b`, `c`: F32 [N, G, T, S]; G divides H.
/// `states`: F32 [N, P, H, R]. Only T, S and R may be dynamic dimensions.
/// `ids`, optional: I32 or I64 [S], from 0 to R - 1.
/// `ends`, optional: I32 [S].
/// The outputs are [P, H, T, S].
Result<Recurrence> ssm_scan(GraphBuilder& g, Operand x, Operand dt, Operand a, Operand b, Operand c,
                            Operand states, Operand ids = absent(), Operand ends = absent());

const Op& rwkv_wkv6_op();
/// RWKV-6 (arXiv 2404.05892). For each head:
///   `y[v] = sum over k of r[k] * (state[v, k] + u[k] * key[k] * value[v])`, then
///   `state[v, k] = w[k] * state[v, k] + key[k] * value[v]`.
/// `r`, `k`, `w`: F32 [K, H, T, S]; w is the decay itself, exp(-exp(...)), from 0 to 1.
/// `v`: F32 [V, H, T, S].
/// `u`: F32 [K, H], the bonus of the current token.
/// `states`: F32 [V, K, H, R]. Only T, S and R may be dynamic dimensions.
/// `ids`, optional: I32 or I64 [S], from 0 to R - 1.
/// `ends`, optional: I32 [S].
/// The outputs are [V, H, T, S].
Result<Recurrence> rwkv_wkv6(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand u,
                             Operand states, Operand ids = absent(), Operand ends = absent());

const Op& rwkv_wkv7_op();
/// RWKV-7 (arXiv 2503.14456). For each head:
///   `sa[v] = sum over k of a[k] * state[k, v]`,
///   `state[k, v] = w[k] * state[k, v] + key[k] * value[v] + b[k] * sa[v]`,
///   `y[v] = sum over k of r[k] * state[k, v]`.
/// In the paper's words a is minus the normalised removal key, and b that key times the in-context
/// learning rate.
/// `r`, `w`, `k`, `a`, `b`: F32 [K, H, T, S]; w is the decay itself, from 0 to 1.
/// `v`: F32 [V, H, T, S].
/// `states`: F32 [K, V, H, R]. Only T, S and R may be dynamic dimensions.
/// `ids`, optional: I32 or I64 [S], from 0 to R - 1.
/// `ends`, optional: I32 [S].
/// The outputs are [V, H, T, S].
Result<Recurrence> rwkv_wkv7(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand a,
                             Operand b, Operand states, Operand ids = absent(),
                             Operand ends = absent());

/// Parameters of gated_linear_attn().
struct GatedLinearAttnParams {
  float scale = 1;  ///< of the outputs; finite; 1 / sqrt(K) in most models
  template <class F>
  void each(F f) const {
    f("scale", scale);
  }
};

const Op& gated_linear_attn_op();
/// Gated linear attention (arXiv 2312.06635). For each head:
///   `state[v, k] = gate[k] * state[v, k] + key[k] * value[v]`,
///   `y[v] = scale * sum over k of q[k] * state[v, k]`.
/// `q`, `k`, `gate`: F32 [K, H, T, S]; the gate is the decay itself, from 0 to 1.
/// `v`: F32 [V, H, T, S].
/// `states`: F32 [V, K, H, R]. Only T, S and R may be dynamic dimensions.
/// `ids`, optional: I32 or I64 [S], from 0 to R - 1.
/// `ends`, optional: I32 [S].
/// The outputs are [V, H, T, S].
Result<Recurrence> gated_linear_attn(GraphBuilder& g, Operand q, Operand k, Operand v, Operand gate,
                                     Operand states, Operand ids = absent(),
                                     GatedLinearAttnParams params = {}, Operand ends = absent());

/// Parameters of gated_delta_net().
struct GatedDeltaNetParams {
  float scale = 1;  ///< of the outputs; finite; 1 / sqrt(K) in most models
  template <class F>
  void each(F f) const {
    f("scale", scale);
  }
};

const Op& gated_delta_net_op();
/// Gated delta rule (arXiv 2412.06464). For each head h, which reads q and k of head h / (H / Hk):
///   `state[k, v] = exp(gate[k]) * state[k, v]`,
///   `d[v] = beta * (value[v] - sum over k of key[k] * state[k, v])`,
///   `state[k, v] = state[k, v] + key[k] * d[v]`,
///   `y[v] = scale * sum over k of q[k] * state[k, v]`.
/// `q`, `k`: F32 [K, Hk, T, S], normalised by the caller if the model requires it; Hk divides H.
/// `v`: F32 [V, H, T, S]. `gate`: F32 [1 or K, H, T, S], the logarithm of the decay: 0 or below in
/// models. `beta`: F32 [1, H, T, S], the share of the present value that is replaced, from 0 to 1
/// (or 2). `states`: F32 [K, V, H, R]. Only T, S and R may be dynamic dimensions. `ids`, optional:
/// I32 or I64 [S], from 0 to R - 1. `ends`, optional: I32 [S]. The outputs are [V, H, T, S].
Result<Recurrence> gated_delta_net(GraphBuilder& g, Operand q, Operand k, Operand v, Operand gate,
                                   Operand beta, Operand states, Operand ids = absent(),
                                   GatedDeltaNetParams params = {}, Operand ends = absent());

}  // namespace shunt
