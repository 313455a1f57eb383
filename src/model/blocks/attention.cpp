// Attention: queries, keys and values of several heads, and the product that mixes the results.
#include "model/blocks/layers.h"

namespace shunt {

namespace {

class AttentionBlock {
 public:
  AttentionBlock(BlockContext& c, const Attention& a, std::int64_t number)
      : c_(c), a_(a), number_(number) {}

  Result<Value> build(Operand x) {
    project(x);
    normalize_and_turn(queries_, WeightSlot::kQueryNorm);
    if (a_.keys_of < 0) normalize_and_turn(keys_, WeightSlot::kKeyNorm);
    if (a_.unit_values) values_ = unit(values_);
    queries_ = with_temperature(queries_);
    AttentionCall call = {.layer = number_,
                          .heads = a_.heads,
                          .kv_heads = a_.kv_heads,
                          .key_size = a_.key_size,
                          .value_size = a_.value_size,
                          .scale = a_.score_scale(),
                          .softcap = a_.softcap,
                          .span = a_.span,
                          .window = a_.window,
                          .keys_of = a_.keys_of,
                          .queries = queries_,
                          .keys = keys_,
                          .values = values_,
                          .sinks = w().weight(WeightSlot::kSinks, number_)};
    Result<Value> mixed = w().named(c_.memory.attend(call), number_, "attention");
    mixed = reshape(g(), mixed, {a_.mixed_width(), tokens()});
    if (a_.gated) mixed = mul(g(), mixed, sigmoid(g(), gate_));
    return w().linear(mixed, WeightSlot::kMix, WeightSlot::kMixBias, number_);
  }

 private:
  GraphBuilder& g() { return c_.g; }
  GraphWeights& w() { return c_.weights; }
  Dim tokens() const { return c_.memory.tokens(); }

  Result<Value> unit(Operand x) { return rms_norm(g(), x, {.eps = c_.model.norm_eps}); }

  Result<Value> heads(Operand x, std::int64_t size, std::int64_t count) {
    return reshape(g(), x, {size, count, tokens()});
  }

  /// Rows [start, start + width) of x [.., tokens].
  Result<Value> rows(Operand x, std::int64_t start, std::int64_t width) {
    return view(g(), x, {start, 0, 0, 0}, {width, tokens()});
  }

  void project(Operand x) {
    Result<Value> q = absent();
    Result<Value> k = absent();
    Result<Value> v = absent();
    if (w().has(WeightSlot::kQueryKeyValue, number_)) {
      const Result<Value> all =
          w().linear(x, WeightSlot::kQueryKeyValue, WeightSlot::kQueryKeyValueBias, number_);
      q = rows(all, 0, a_.query_width());
      k = rows(all, a_.query_width(), a_.key_width());
      v = rows(all, a_.query_width() + a_.key_width(), a_.value_width());
    } else {
      q = w().linear(x, WeightSlot::kQuery, WeightSlot::kQueryBias, number_);
      if (a_.keys_of < 0) {
        k = w().linear(x, WeightSlot::kKey, WeightSlot::kKeyBias, number_);
        v = w().has(WeightSlot::kValue, number_)
                ? w().linear(x, WeightSlot::kValue, WeightSlot::kValueBias, number_)
                : k;
      }
    }
    if (a_.gated) {
      const Result<Value> both = heads(q, 2 * a_.key_size, a_.heads);
      const auto half = [&](std::int64_t start) {
        return view(g(), both, {start, 0, 0, 0}, {a_.key_size, a_.heads, tokens()});
      };
      gate_ = reshape(g(), cont(g(), half(a_.key_size)), {a_.query_width(), tokens()});
      queries_ = half(0);
    } else {
      if (w().has(WeightSlot::kFullQueryNorm, number_))
        q = w().rms(q, WeightSlot::kFullQueryNorm, number_);
      queries_ = heads(q, a_.key_size, a_.heads);
    }
    if (a_.keys_of >= 0) return;
    if (w().has(WeightSlot::kFullKeyNorm, number_))
      k = w().rms(k, WeightSlot::kFullKeyNorm, number_);
    keys_ = heads(k, a_.key_size, a_.kv_heads);
    values_ = heads(v, a_.value_size, a_.kv_heads);
  }

  void normalize_and_turn(Result<Value>& x, WeightSlot norm) {
    const bool normed = w().has(norm, number_);
    if (normed && !a_.norms_after_rope) x = w().rms(x, norm, number_);
    if (a_.rope) x = rope(g(), x, c_.memory.positions(), factors(), *a_.rope);
    if (normed && a_.norms_after_rope) x = w().rms(x, norm, number_);
    if (a_.unit_heads) x = unit(x);
  }

  Result<Value> factors() {
    if (!a_.rope_factors) return absent();
    if (w().has(WeightSlot::kRopeFactors)) return w().weight(WeightSlot::kRopeFactors);
    return w().weight(c_.memory.is_long() ? WeightSlot::kLongRopeFactors
                                          : WeightSlot::kShortRopeFactors);
  }

  Result<Value> with_temperature(Operand x) {
    if (a_.temperature.scale == 0) return x;
    return mul(g(), x, query_temperature(c_, a_.temperature));
  }

  BlockContext& c_;
  const Attention& a_;
  std::int64_t number_;
  Result<Value> queries_ = absent();
  Result<Value> keys_ = absent();
  Result<Value> values_ = absent();
  Result<Value> gate_ = absent();
};

}  // namespace

Result<Value> attention_block(BlockContext& c, const Attention& a, Operand x, std::int64_t number) {
  return AttentionBlock(c, a, number).build(x);
}

}  // namespace shunt
