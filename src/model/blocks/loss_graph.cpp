// The graph of a training step: whole rows of tokens at once, nothing in a cache. Attention is made
// of products and a softmax, each of which has a gradient.
#include "model/blocks/layers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class LossMemory final : public LayerMemory {
 public:
  LossMemory(GraphBuilder& g, const LossShape& shape) : g_(g), shape_(shape) {}

  Status make_inputs(std::int64_t vocabulary) {
    const auto input = [&](Value& value, const char* name, DType type,
                           const Shape& shape) -> Status {
      SHUNT_ASSIGN(const Tensor tensor, make_tensor(type, shape));
      SHUNT_ASSIGN(value, g_.input(name, tensor));
      return ok();
    };
    SHUNT_TRY(input(made_.tokens, "tokens", DType::kI32, {tokens()}));
    SHUNT_TRY(input(made_.positions, "positions", DType::kI32, {tokens()}));
    SHUNT_TRY(
        input(made_.mask, "mask", DType::kF16, {shape_.context, shape_.context, 1, shape_.rows}));
    return input(made_.labels, "labels", DType::kF32, {vocabulary, tokens()});
  }

  Dim tokens() const override { return shape_.context * shape_.rows; }
  Result<Value> positions() const override { return made_.positions; }
  bool is_long() const override { return false; }
  std::int64_t slots() const override { return 0; }

  Result<Value> attend(const AttentionCall& call) override {
    if (call.span != AttentionSpan::kCausal || (call.sinks && call.sinks->id != kNoNode) ||
        call.softcap != 0 || call.keys_of >= 0 || (call.values && call.values->id == kNoNode)) {
      return fail(ErrorCode::kUnsupported,
                  "layer {} can't be trained: only causal attention without sinks, caps and shared "
                  "keys has gradients",
                  call.layer);
    }
    const Result<Value> queries = by_head(call.queries, call.key_size, call.heads);
    const Result<Value> keys = by_head(call.keys, call.key_size, call.kv_heads);
    const Result<Value> values = by_head(call.values, call.value_size, call.kv_heads);
    const Result<Value> shares =
        softmax(g_, matmul(g_, keys, queries), made_.mask, {.scale = call.scale});
    const Result<Value> mixed = matmul(g_, permute(g_, values, {1, 0, 2, 3}), shares);
    return cont(g_, permute(g_, mixed, {0, 2, 1, 3}));
  }
  Result<StateUse> state(std::string_view what, std::int64_t layer, std::int64_t) override {
    return fail(ErrorCode::kUnsupported, "layer {} can't be trained: its {} has no gradient", layer,
                what);
  }
  Status keep(Operand, Operand, std::int64_t) override { return ok(); }

  LossGraph& made() { return made_; }

 private:
  /// [size, heads, tokens] as [size, context, heads, rows].
  Result<Value> by_head(Operand x, std::int64_t size, std::int64_t heads) {
    return permute(g_, reshape(g_, x, {size, heads, shape_.context, shape_.rows}), {0, 2, 1, 3});
  }

  GraphBuilder& g_;
  const LossShape& shape_;
  LossGraph made_;
};

}  // namespace

Result<LossGraph> DescribedModel::build_loss(GraphBuilder& g, const LossShape& shape) const {
  LossMemory memory(g, shape);
  SHUNT_TRY(memory.make_inputs(model_.vocabulary));
  GraphWeights weights(g, *this, Role::kCache);
  BlockContext context = {g, model_, weights, memory};
  LossGraph& made = memory.made();
  const Result<Value> logits = model_graph(context, made.tokens, absent(), memory.tokens());
  SHUNT_ASSIGN(made.loss, cross_entropy_loss(g, logits, made.labels));
  made.weights = weights.leaves();
  return std::move(made);
}

}  // namespace shunt
