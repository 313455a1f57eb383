#include "model/blocks/graph_weights.h"

#include "shunt/message.h"

namespace shunt {

namespace {

/// "blk.3.attn_q" of "blk.3.attn_q.weight".
std::string without_kind(std::string name) {
  constexpr std::string_view kKind = ".weight";
  if (name.ends_with(kKind)) name.resize(name.size() - kKind.size());
  return name;
}

/// Weights that training leaves as they are.
bool is_constant(WeightSlot slot) {
  return slot == WeightSlot::kRopeFactors || slot == WeightSlot::kLongRopeFactors ||
         slot == WeightSlot::kShortRopeFactors;
}

}  // namespace

Result<Value> GraphWeights::weight(WeightSlot slot, std::int64_t layer) {
  const gguf::TensorInfo* info = model_.find(slot, layer);
  if (info == nullptr) return absent();
  const auto [known, is_new] =
      made_.try_emplace(std::pair(slot, layer), static_cast<NodeId>(kNoNode));
  if (!is_new) return Value{known->second};
  const SlotFacts& facts = facts_of(slot);
  const std::string name = model_.name(slot, layer);
  Value leaf;
  if (role_ == Role::kCache && !is_constant(slot)) {
    SHUNT_ASSIGN(const Tensor tensor, make_tensor(DType::kF32, info->tensor.shape));
    SHUNT_ASSIGN(leaf, g_.cache(name, tensor));
  } else {
    SHUNT_ASSIGN(leaf, g_.weight(name, info->tensor, facts.leaf));
  }
  known->second = leaf.id;
  leaves_.push_back({leaf.id, info, facts.is_in == nullptr ? -1 : layer});
  return leaf;
}

Result<Value> GraphWeights::linear(Operand x, WeightSlot slot, WeightSlot bias,
                                   std::int64_t layer) {
  const Result<Value> y = matmul(g_, weight(slot, layer), x);
  const bool biased = bias != WeightSlot::kCount && has(bias, layer);
  Result<Value> sum = with_adapters(biased ? add(g_, y, weight(bias, layer)) : y, x, slot, layer);
  if (!sum) return sum;
  SHUNT_TRY(g_.name(sum, without_kind(model_.name(slot, layer))));
  return sum;
}

Result<Value> GraphWeights::norm(Operand x, WeightSlot slot, std::int64_t layer, WeightSlot bias) {
  if (!has(slot, layer)) return x;
  const Description& model = model_.description();
  if (model.norm == NormKind::kRms) return rms(x, slot, layer);
  const Result<Value> y = mul(g_, shunt::norm(g_, x, {.eps = model.norm_eps}), weight(slot, layer));
  return bias != WeightSlot::kCount && has(bias, layer) ? add(g_, y, weight(bias, layer)) : y;
}

Result<Value> GraphWeights::rms(Operand x, WeightSlot slot, std::int64_t layer) {
  return rms(x, slot, layer, model_.description().norm_eps);
}

Result<Value> GraphWeights::rms(Operand x, WeightSlot slot, std::int64_t layer, float eps) {
  return mul(g_, rms_norm(g_, x, {.eps = eps}), weight(slot, layer));
}

Result<Value> GraphWeights::named(Result<Value> value, std::int64_t layer, std::string_view what) {
  if (value) SHUNT_TRY(g_.name(value, fmt::format("blk.{}.{}", layer, what)));
  return value;
}

}  // namespace shunt
