// A mixture of experts: a router gives each token some of them, whose results are added with their
// weights. Where the model has a shared expert, every token has its result, too.
#include <limits>

#include "model/blocks/layers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class ExpertsBlock {
 public:
  ExpertsBlock(BlockContext& c, const Experts& experts, Dim columns, std::int64_t number)
      : c_(c), e_(experts), columns_(columns), number_(number) {}

  Result<Value> build(Operand x) { return build(x, x); }

  /// The router has another input than the experts.
  Result<Value> build(Operand to_route, Operand x) {
    const Result<Value> probabilities = route(to_route);
    const Result<Value> ids = choose(probabilities);
    const Result<Value> weights = weights_of(probabilities, ids);
    const Result<Value> sum = mix(x, ids, weights);
    return e_.shared_size == 0 ? sum : add(g(), sum, shared(x));
  }

 private:
  GraphBuilder& g() { return c_.g; }
  GraphWeights& w() { return c_.weights; }

  /// [count, columns]
  Result<Value> route(Operand x) {
    logits_ = w().linear(x, WeightSlot::kRouter, WeightSlot::kRouterBias, number_);
    return e_.routing == Routing::kSigmoid ? sigmoid(g(), logits_) : softmax(g(), logits_);
  }

  /// I32 [used, columns]
  Result<Value> choose(Operand probabilities) {
    const bool biased = w().has(WeightSlot::kSelectionBias, number_);
    const bool grouped = e_.groups_used < e_.groups;
    // The logits have the same order, also where probabilities are rounded to the same number.
    if (!biased && !grouped) return top_k(g(), logits_, {.k = e_.used});
    Result<Value> scores =
        biased ? add(g(), probabilities, w().weight(WeightSlot::kSelectionBias, number_))
               : probabilities;
    if (grouped) scores = of_best_groups(scores);
    return top_k(g(), scores, {.k = e_.used});
  }

  /// The scores, with minus infinity for experts in other groups than the best. A group is as good
  /// as its two best experts together if there is a bias for the selection (DeepSeek-V3, arXiv
  /// 2412.19437), else as its best one (DeepSeek-V2).
  Result<Value> of_best_groups(Operand scores) {
    const std::int64_t size = e_.count / e_.groups;
    const std::int64_t best = w().has(WeightSlot::kSelectionBias, number_) && size > 1 ? 2 : 1;
    const Result<Value> by_group = reshape(g(), scores, {size, e_.groups, columns_});
    const Result<Value> ids = top_k(g(), by_group, {.k = best});
    const Result<Value> values =
        get_rows(g(), reshape(g(), by_group, {1, size, e_.groups, columns_}), ids);
    const Result<Value> of_groups =
        reshape(g(), sum_rows(g(), reshape(g(), values, {best, e_.groups, columns_})),
                {e_.groups, columns_});
    const Result<Value> chosen = top_k(g(), of_groups, {.k = e_.groups_used});
    // Rows of minus infinity, into which those of the chosen groups are written.
    const Result<Value> all = fill(g(), {size, e_.groups, columns_},
                                   -std::numeric_limits<float>::infinity(), DType::kF32);
    const Result<Value> kept = get_rows(g(), by_group, chosen);
    return reshape(g(), set_rows(g(), all, kept, chosen), {e_.count, columns_});
  }

  /// [1, used, columns]
  Result<Value> weights_of(Operand probabilities, Operand ids) {
    Result<Value> weights =
        get_rows(g(), reshape(g(), probabilities, {1, e_.count, columns_}), ids);
    if (e_.normalized) {
      const Result<Value> row = reshape(g(), weights, {e_.used, columns_});
      const Result<Value> sum = scale(g(), sum_rows(g(), row), {.bias = e_.least_sum});
      weights = reshape(g(), div(g(), row, sum), {1, e_.used, columns_});
    }
    if (w().has(WeightSlot::kExpertScale, number_)) {
      const Result<Value> all =
          reshape(g(), w().weight(WeightSlot::kExpertScale, number_), {1, e_.count});
      const Result<Value> each = get_rows(g(), all, reshape(g(), ids, {all_uses()}));
      weights = mul(g(), weights, reshape(g(), each, {1, e_.used, columns_}));
    }
    return e_.weight_scale == 1 ? weights : scale(g(), weights, {.scale = e_.weight_scale});
  }

  /// The number of uses of experts by all columns.
  Dim all_uses() const {
    if (columns_.is_fixed()) return columns_.max * e_.used;
    return {columns_.dynamic_dim, columns_.max, e_.used};
  }

  Result<Value> expert(Operand x, Operand ids, WeightSlot slot, WeightSlot bias) {
    const Result<Value> y =
        w().named(w().expert_product(x, ids, slot, number_), number_, name(slot));
    return w().has(bias, number_) ? add_id(g(), y, w().weight(bias, number_), ids) : y;
  }

  Result<Value> activated(Operand inputs, Operand ids) {
    if (e_.fused) {
      return gated_fused(g(), e_.activation,
                         expert(inputs, ids, WeightSlot::kExpertGateUp, WeightSlot::kExpertUpBias));
    }
    if (!w().has(WeightSlot::kExpertGate, number_)) {
      return ungated(g(), e_.activation,
                     expert(inputs, ids, WeightSlot::kExpertUp, WeightSlot::kExpertUpBias));
    }
    const Result<Value> gate =
        expert(inputs, ids, WeightSlot::kExpertGate, WeightSlot::kExpertGateBias);
    const Result<Value> up = expert(inputs, ids, WeightSlot::kExpertUp, WeightSlot::kExpertUpBias);
    return gated(g(), e_.activation, gate, up);
  }

  static std::string_view name(WeightSlot slot) {
    if (slot == WeightSlot::kExpertGateUp) return "ffn_gate_up_exps";
    if (slot == WeightSlot::kExpertGate) return "ffn_gate_exps";
    return slot == WeightSlot::kExpertUp ? "ffn_up_exps" : "ffn_down_exps";
  }

  /// The sum of the experts' results, times their weights: [width, columns].
  Result<Value> mix(Operand x, Operand ids, Operand weights) {
    const std::int64_t width = c_.model.width;
    Result<Value> inputs = reshape(g(), x, {width, 1, columns_});
    if (e_.weighted_inputs)
      inputs = mul(g(), repeat(g(), inputs, {width, e_.used, columns_}), weights);
    Result<Value> results =
        expert(activated(inputs, ids), ids, WeightSlot::kExpertDown, WeightSlot::kExpertDownBias);
    if (!e_.weighted_inputs) results = mul(g(), results, weights);
    // The sum over a token's experts is one node, however many they are.
    if (e_.used > 1)
      results = w().named(repeat_back(g(), results, {width, 1, columns_}), number_, "experts");
    return reshape(g(), results, {width, columns_});
  }

  Result<Value> shared(Operand x) {
    const Result<Value> gate = w().linear(x, WeightSlot::kSharedGate, number_);
    const Result<Value> up = w().linear(x, WeightSlot::kSharedUp, number_);
    Result<Value> y =
        w().linear(gated(g(), e_.activation, gate, up), WeightSlot::kSharedDown, number_);
    if (!w().has(WeightSlot::kSharedRouter, number_)) return y;
    return mul(g(), y, sigmoid(g(), w().linear(x, WeightSlot::kSharedRouter, number_)));
  }

  BlockContext& c_;
  const Experts& e_;
  Dim columns_;
  std::int64_t number_;
  Result<Value> logits_ = absent();
};

}  // namespace

Result<Value> experts_block(BlockContext& c, const Experts& experts, Operand x, Dim columns,
                            std::int64_t number) {
  return ExpertsBlock(c, experts, columns, number).build(x);
}

Result<Value> experts_block(BlockContext& c, const Experts& experts, Operand to_route, Operand x,
                            Dim columns, std::int64_t number) {
  return ExpertsBlock(c, experts, columns, number).build(to_route, x);
}

}  // namespace shunt
