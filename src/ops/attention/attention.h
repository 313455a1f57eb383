/// \file
/// The parts of attention: positions (rope), softmax, and attention as one op: over one matrix of
/// keys, or over a KV cache of many sequences in blocks (paged attention).
#pragma once

#include <array>
#include <string_view>

#include "shunt/graph.h"

namespace shunt {

/// The slope of ALiBi (arXiv 2108.12409): head `head` of `heads` multiplies its mask by it. It is 1
/// if max_bias is 0. Otherwise, let n be the largest power of two that is at most `heads`. The
/// first n heads have `2^(-max_bias * (head + 1) / n)`. The others have every other slope of 2n
/// heads, from the first on: `2^(-max_bias * (2 * (head - n) + 1) / (2n))`. The paper's max_bias is
/// 8.
double alibi_slope(float max_bias, std::int64_t heads, std::int64_t head);

/// Parameters of softmax().
struct SoftmaxParams {
  float scale = 1;     ///< finite
  float max_bias = 0;  ///< of alibi_slope(), 0 to 100; above 0 there must be a mask
  template <class F>
  void each(F f) const {
    f("scale", scale);
    f("max_bias", max_bias);
  }
};

const Op& softmax_op();
/// `y = exp(z - m) / (sum(exp(z - m)) + exp(sinks[h] - m))` along dimension 0, where
/// `z = x * scale + alibi_slope(h) * mask`, and m is the largest of z and sinks[h]. A sink is the
/// logit of something that takes its share and gives nothing. Without sinks that term is 0. A row
/// whose z are all minus infinity gives zeros.
/// `x`: F32, F16 or BF16 [N, T, H, S].
/// `mask`, optional: F32 or F16 [N, T, 1 or H, 1 or S].
/// `sinks`, optional: F32 [H].
/// The result is F32 and has x's shape.
Result<Value> softmax(GraphBuilder& g, Operand x, Operand mask = absent(),
                      SoftmaxParams params = {}, Operand sinks = absent());

/// Which two elements of a row are pair i, and by which of the positions, at which frequency, it
/// turns.
enum class RopeMode : std::uint8_t {
  kNormal,  ///< elements 2i and 2i + 1
  kNeox,    ///< elements i and i + dims / 2
  /// As kNeox, but a token has four positions (time, row and column in a picture, and one more),
  /// and each section of pairs turns by its own: M-RoPE (Qwen2-VL, arXiv 2409.12191).
  kMulti,
  /// As kMulti, but each section begins with the highest frequency again, as if it were a rope of
  /// dims / 2 elements: that of Qwen2-VL's picture encoder, with two sections of dims / 4.
  kVision,
};
/// "normal", "neox", "multi", "vision".
std::string_view to_string(RopeMode mode);
/// Whether tokens have a position for each section: kMulti and kVision.
bool has_sections(RopeMode mode);

/// Parameters of rope().
struct RopeParams {
  std::int64_t dims = 0;  ///< number of rotated elements of a row: even, at least 2, at most D
  RopeMode mode = RopeMode::kNormal;
  float freq_base = 10000;  ///< above 0, and above 1 if ext_factor isn't 0
  float freq_scale = 1;     ///< of the angles, 1 / (times the context is stretched); above 0
  // YaRN (arXiv 2309.00071); switched off by ext_factor 0.
  float ext_factor = 0;   ///< how much fast pairs are extrapolated, 0 to 1
  float attn_factor = 1;  ///< multiplies the result; finite
  float beta_fast = 32;   ///< turns in the original context from which on a pair is fast; above 0
  float beta_slow = 1;    ///< turns up to which a pair is slow, thus interpolated; above 0
  std::int64_t original_context = 0;  ///< tokens; above 0 if ext_factor isn't 0
  bool whole_pairs = true;            ///< whether fast and slow pairs end at whole numbers
  /// Of kMulti and kVision: how many pairs turn by each of the positions, the first ones by the
  /// first; at least 0, dims / 2 together. Otherwise all 0.
  std::array<std::int64_t, 4> sections = {};
  bool operator==(const RopeParams&) const = default;
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
    f("whole_pairs", whole_pairs);
    f("sections", sections);
  }
};

/// Which of a token's positions pair i turns by: the number of its section; 0 without sections.
std::size_t rope_position(const RopeParams& params, std::int64_t i);
/// The angle in radians by which pair i turns from one position to the next, for i from 0 to dims /
/// 2 - 1. It is the angle before the division by the pair's frequency factor. With
/// `b = freq_base^(-2i / dims)` it is
///   `b * (freq_scale * (1 - r) + r)`,
///   `r = ext_factor * (1 - clamp((i - low) / max(high - low, 0.001), 0, 1))`.
/// `low` and `high` are the pairs that make beta_fast and beta_slow turns in the original context,
///   `dims * ln(original_context / (2 pi beta)) / (2 ln(freq_base))`.
/// `low` is rounded down and at least 0, `high` is rounded up and at most dims - 1. Without
/// whole_pairs they are not rounded. With kVision, i is counted from the start of the pair's
/// section, and half of dims takes the place of dims.
double rope_frequency(const RopeParams& params, std::int64_t i);
/// The factor of rotated elements: attn_factor, times 1 + 0.1 ln(1 / freq_scale) if ext_factor
/// isn't 0.
double rope_magnitude(const RopeParams& params);

const Op& rope_op();
/// Rotary position embedding. Let `a = positions[t, rope_position(i)] * rope_frequency(i) /
/// freq_factors[i]` and `m = rope_magnitude()`. Pair i of a row, `(u, v)`, becomes `m * (u cos a -
/// v sin a, u sin a + v cos a)`. Elements from `dims` on are copied. Angles, sines and cosines are
/// computed in double precision, so that positions in a long context cost no digits.
/// `x`: F32, F16 or BF16 [D, H, T, S].
/// `positions`: I32 [T]; [T, 4] with kMulti and kVision.
/// `freq_factors`, optional (all 1 then): F32 [dims / 2].
/// The result is F32 and has x's shape.
Result<Value> rope(GraphBuilder& g, Operand x, Operand positions, Operand freq_factors,
                   RopeParams params);

/// Parameters of attention().
struct AttentionParams {
  float scale = 1;     ///< finite; 1 / sqrt(D) in most models
  float max_bias = 0;  ///< of alibi_slope(), 0 to 100; above 0 there must be a mask
  float softcap = 0;   ///< scores are kept within so much; 0: they are left as they are
  template <class F>
  void each(F f) const {
    f("scale", scale);
    f("max_bias", max_bias);
    f("softcap", softcap);
  }
};

const Op& attention_op();
/// `y[:, h, t, s]` is the sum over n of `p[n] * v[:, hk, n, s]`, where p is the softmax over n of
///   `cap(scale * dot(q[:, h, t, s], k[:, hk, n, s])) + alibi_slope(h) * mask[n, t, h, s]`,
/// with `sinks[h]` if there are sinks (see softmax()). `cap(z) = softcap * tanh(z / softcap)`, or z
/// if softcap is 0. `hk = h / (H / Hk)`: query heads in groups share a head of k and v. Where all
/// scores are minus infinity, and where N is 0, y is 0. Scores of all keys at once are never in
/// memory.
/// A device may skip blocks of keys that the mask hides by minus infinity. A not-a-number in k or v
/// there may or may not reach y. The same holds for a not-a-number in a q that sees no key at all.
/// Anywhere else a not-a-number makes all that depends on it not a number.
/// Where k or v is F16 or BF16, a device may round the other operand of its product to that type.
/// Where they are quantised, it must compute with the dequantised values of their blocks, as
/// precisely as with F32: q is not rounded to 8 bits.
/// `q`: F32 [D, H, T, S].
/// `k`: [D, Hk, N, S], `v`: [Dv, Hk, N, S], each of type F32, F16, BF16, Q8_0 or Q4_0. Hk divides
/// H.
/// `mask`, optional: F32 or F16 [N, T, 1 or H, 1 or S].
/// `sinks`, optional: F32 [H].
/// The result is F32 [Dv, H, T, S].
Result<Value> attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand mask = absent(),
                        AttentionParams params = {}, Operand sinks = absent());

/// The keys that a query at position p sees, of those of its sequence, whose positions count from
/// 0.
enum class AttentionSpan : std::uint8_t {
  kCausal,               ///< up to p
  kSlidingWindow,        ///< the last `window` up to p: above p - window
  kChunked,              ///< up to p, from the last multiple of `window` on
  kBidirectional,        ///< all
  kBidirectionalWindow,  ///< those at most window / 2 positions away
};
/// "causal", "sliding window", "chunked", "bidirectional", "bidirectional window".
std::string_view to_string(AttentionSpan span);

/// Positions [first, end).
struct SeenSpan {
  std::int64_t first = 0;
  std::int64_t end = 0;
};
/// The keys that the query at `position` sees in a sequence of `length` keys.
SeenSpan seen_span(AttentionSpan span, std::int64_t window, std::int64_t position,
                   std::int64_t length);

/// Parameters of paged_attention().
struct PagedAttentionParams {
  float scale = 1;     ///< finite; 1 / sqrt(D) in most models
  float max_bias = 0;  ///< of alibi_slope(), 0 to 100
  float softcap = 0;   ///< as in attention()
  AttentionSpan span = AttentionSpan::kCausal;
  std::int64_t window = 0;  ///< above 0 where the span has one, else 0
  std::int64_t block = 64;  ///< rows of a block: a multiple of 16, at most 65536
  template <class F>
  void each(F f) const {
    f("scale", scale);
    f("max_bias", max_bias);
    f("softcap", softcap);
    f("span", span);
    f("window", window);
    f("block", block);
  }
};

const Op& paged_attention_op();
/// Attention of tokens of several sequences over a KV cache in blocks (arXiv 2309.06180). A column
/// s of `sequences` describes a sequence: its tokens are those of q from the end of the sequence
/// before (0 for the first) up to sequences[0, s]. It has sequences[1, s] keys, the last of which
/// are those of its tokens. So with c tokens, token i has position p = sequences[1, s] - c + i. Key
/// n is row `block_table[sequences[2, s] + n / block] * block + n % block` of k and v. Rows in no
/// table, and those after a sequence's last key, are never read. Nor are those of keys that no
/// token of the sequence sees, unless they are in the same group of 64 keys, counted from key 0, as
/// one that a token sees.
/// `y[:, h, t]` is the sum over the keys n that p sees (seen_span()) of `w[n] * v[:, hk, row(n)]`,
/// where w is the softmax over them of
///   `cap(scale * dot(q[:, h, t], k[:, hk, row(n)])) + alibi_slope(h) * (mask[n, t, h] - a)`,
/// with cap, hk and sinks as in attention(). `a = abs(p - n)` if max_bias is above 0, else 0. A
/// token that is of no sequence, those from the last end on, gives 0. So does one that sees no key.
/// Precision and not-a-numbers are as in attention().
///
/// A run fails where ends decrease or are beyond T, and where a sequence has fewer keys than
/// tokens. It also fails for an entry that is not in the table, a row that is not in k, and a key
/// without a column of the mask. A block named twice has keys at two places, and is read for each.
/// `q`: F32 [D, H, T]. `k`: [D, Hk, R], `v`: [Dv, Hk, R], each of type F32, F16, BF16, Q8_0 or
/// Q4_0. Hk divides H. Values that are the first elements of keys (latent attention) are a view of
/// k. `sequences`: I32 [3, S]. `block_table`: I32 [E]. `mask`, optional: F32 or F16 [N, T, 1 or H],
/// by position of the key. `sinks`, optional: F32 [H]. The result is F32 [Dv, H, T].
Result<Value> paged_attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand sequences,
                              Operand block_table, PagedAttentionParams params,
                              Operand mask = absent(), Operand sinks = absent());

}  // namespace shunt
