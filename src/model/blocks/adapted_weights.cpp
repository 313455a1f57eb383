// Products and embeddings with the changes of adapters: y = W x + B (s * (A x)). A and B have the
// rows of all adapters, and s has the scale of each row for each token: 0 for adapters that a token
// does not use.
#include "model/blocks/graph_weights.h"
#include "shunt/message.h"

namespace shunt {

std::span<const AdapterStack> GraphWeights::adapters_of(WeightSlot slot, std::int64_t layer) const {
  if (!adapters_) return {};
  return model_.adapters()->of(slot, layer);
}

Result<Value> GraphWeights::adapter_leaf(const gguf::TensorInfo& info, Role role,
                                         std::int64_t layer) {
  const auto [known, is_new] = adapter_leaves_.try_emplace(&info, static_cast<NodeId>(kNoNode));
  if (!is_new) return Value{known->second};
  SHUNT_ASSIGN(const Value leaf, g_.weight(info.name, info.tensor, role));
  known->second = leaf.id;
  leaves_.push_back({leaf.id, &info, layer});
  return leaf;
}

/// The scales of the step's tokens, or of those whose logits are made: [ranks, columns].
Result<Value> GraphWeights::scales_of(const Dim& columns) {
  if (columns == g_.tensor(adapters_->scales).shape[1]) return adapters_->scales;
  if (output_scales_ && output_scales_->id == kNoNode)
    output_scales_ = get_rows(g_, adapters_->scales, adapters_->output_ids);
  return output_scales_;
}

Result<Value> GraphWeights::add_change(Operand y, Operand change, const AdapterStack& stack) {
  if (change) SHUNT_TRY(g_.name(change, "change of " + stack.weight));
  return add(g_, y, change);
}

Result<Value> GraphWeights::with_adapters(Result<Value> y, Operand x, WeightSlot slot,
                                          std::int64_t layer) {
  for (const AdapterStack& stack : adapters_of(slot, layer)) {
    SHUNT_ASSIGN(const Tensor of_x, g_.find(x));
    const std::int64_t of_layer = facts_of(slot).is_in == nullptr ? -1 : layer;
    const Role role = facts_of(slot).leaf;
    const Result<Value> rows =
        mul(g_, matmul(g_, adapter_leaf(*stack.a, role, of_layer), x), scales_of(of_x.shape[1]));
    y = add_change(y, matmul(g_, adapter_leaf(*stack.b, role, of_layer), rows), stack);
  }
  return y;
}

Result<Value> GraphWeights::product(Operand x, WeightSlot slot, std::int64_t layer) {
  return with_adapters(matmul(g_, weight(slot, layer), x), x, slot, layer);
}

Result<Value> GraphWeights::expert_product(Operand x, Operand ids, WeightSlot slot,
                                           std::int64_t layer) {
  Result<Value> y = matmul_id(g_, weight(slot, layer), x, ids);
  for (const AdapterStack& stack : adapters_of(slot, layer)) {
    SHUNT_ASSIGN(const Tensor of_x, g_.find(x));
    const Dim columns = of_x.shape[2];
    const auto leaf = [&](const gguf::TensorInfo& info) {
      return adapter_leaf(info, facts_of(slot).leaf, layer);
    };
    const Result<Value> scales =
        reshape(g_, scales_of(columns), {model_.adapters()->ranks(), 1, columns});
    const Result<Value> rows = mul(g_, matmul_id(g_, leaf(*stack.a), x, ids), scales);
    y = add_change(y, matmul_id(g_, leaf(*stack.b), rows, ids), stack);
  }
  return y;
}

Result<Value> GraphWeights::embeddings(Operand tokens) {
  constexpr WeightSlot kSlot = WeightSlot::kEmbedding;
  Result<Value> y = get_rows(g_, weight(kSlot), tokens);
  for (const AdapterStack& stack : adapters_of(kSlot, 0)) {
    const Result<Value> rows =
        mul(g_, get_rows(g_, adapter_leaf(*stack.a, Role::kWeight, -1), tokens), adapters_->scales);
    y = add_change(y, matmul(g_, adapter_leaf(*stack.b, Role::kWeight, -1), rows), stack);
  }
  return y;
}

}  // namespace shunt
