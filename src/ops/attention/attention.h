// What attention is made of.
#pragma once

#include <string_view>

#include "shunt/graph.h"

namespace shunt {

struct SoftmaxParams {
  float scale = 1;  ///< finite
  template <class F>
  void each(F f) const {
    f("scale", scale);
  }
};

const Op& softmax_op();
/// y = exp(z - max(z)) / sum(exp(z - max(z))) along dimension 0, where z = x * scale + mask. A row
/// whose z are all minus infinity gives zeros.
/// x: F32 [N, T, H, S].
/// mask, optional: F32 or F16 [N, T, 1 or H, 1 or S].
/// The result has x's shape.
Result<Value> softmax(GraphBuilder& g, Operand x, Operand mask = absent(),
                      SoftmaxParams params = {});

/// Which two elements of a row are rotated together.
enum class RopeMode : std::uint8_t {
  kNormal,  ///< elements 2i and 2i + 1
  kNeox,    ///< elements i and i + dims / 2
};
std::string_view to_string(RopeMode mode);

struct RopeParams {
  std::int64_t dims = 0;  ///< so many elements of a row are rotated: even, at least 2, at most D
  RopeMode mode = RopeMode::kNormal;
  float freq_base = 10000;  ///< above 0, and above 1 if ext_factor isn't 0
  float freq_scale = 1;     ///< of the angles, 1 / (times the context is stretched); above 0
  // YaRN (arXiv 2309.00071); switched off by ext_factor 0.
  float ext_factor = 0;   ///< how much fast pairs are extrapolated, 0 to 1
  float attn_factor = 1;  ///< multiplies the result; finite
  float beta_fast = 32;   ///< a pair is fast from so many turns in the original context on; above 0
  float beta_slow = 1;    ///< a pair is slow, thus interpolated, up to so many turns; above 0
  std::int64_t original_context = 0;  ///< tokens; above 0 if ext_factor isn't 0
  template <class F>
  void each(F f) const {
    f("dims", dims);
    f("mode", mode);
    f("freq_base", freq_base);
    f("freq_scale", freq_scale);
    f("ext_factor", ext_factor);
    f("attn_factor", attn_factor);
    f("beta_fast", beta_fast);
    f("beta_slow", beta_slow);
    f("original_context", original_context);
  }
};

/// The angle in radians by which pair i, from 0 to dims / 2 - 1, turns from one position to the
/// next, before it is divided by the pair's frequency factor: with b = freq_base^(-2i / dims),
///   b * (freq_scale * (1 - r) + r),
///   r = ext_factor * (1 - clamp((i - low) / max(high - low, 0.001), 0, 1)).
/// low and high are the pairs that make beta_fast and beta_slow turns in the original context,
///   dims * ln(original_context / (2 pi beta)) / (2 ln(freq_base)),
/// low rounded down and at least 0, high rounded up and at most dims - 1.
double rope_frequency(const RopeParams& params, std::int64_t i);
/// What rotated elements are multiplied with: attn_factor, times 1 + 0.1 ln(1 / freq_scale) if
/// ext_factor isn't 0.
double rope_magnitude(const RopeParams& params);

const Op& rope_op();
/// Rotary position embedding. With a = positions[t] * rope_frequency(i) / freq_factors[i] and m =
/// rope_magnitude(), pair i of a row (u, v) becomes m * (u cos a - v sin a, u sin a + v cos a);
/// elements from `dims` on are copied.
/// x: F32 [D, H, T, S].
/// positions: I32 [T].
/// freq_factors, optional (all 1 then): F32 [dims / 2].
/// The result has x's shape.
Result<Value> rope(GraphBuilder& g, Operand x, Operand positions, Operand freq_factors,
                   RopeParams params);

struct AttentionParams {
  float scale = 1;  ///< finite; 1 / sqrt(D) in most models
  template <class F>
  void each(F f) const {
    f("scale", scale);
  }
};

const Op& attention_op();
/// y[:, h, t, s] = sum over n of p[n] * v[:, h', n, s], where p is the softmax over n of
/// scale * dot(q[:, h, t, s], k[:, h', n, s]) + mask[n, t, h, s], and h' = h / (H / Hk): query
/// heads in groups share a head of k and v. Where all scores are minus infinity, and where N is 0,
/// y is 0. Where k or v is F16 or BF16, a device may round what it multiplies with it to that type.
/// q: F32 [D, H, T, S].
/// k: [D, Hk, N, S], v: [Dv, Hk, N, S], each of type F32, F16 or BF16; Hk divides H.
/// mask, optional: F32 or F16 [N, T, 1 or H, 1 or S].
/// The result is F32 [Dv, H, T, S].
Result<Value> attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand mask = absent(),
                        AttentionParams params = {});

}  // namespace shunt
