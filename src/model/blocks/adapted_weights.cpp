// Products and embeddings with the changes of adapters: y = W x + B (s * (A x)). Only the columns
// that use adapters are picked out of x and changed in y, and each is multiplied by the matrices of
// its own adapters. Matrices that are side by side have the rows of all adapters: s has the scale
// of each row, 0 for adapters that a token does not use.
#include <array>

#include "model/blocks/graph_weights.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::array kHeadsInside = {0, 2, 1,
                                     3};  // [size, columns, heads] to [size, heads, columns]

/// As [size * heads, columns].
Result<Value> with_heads_inside(GraphBuilder& g, Operand x, std::int64_t width, Dim columns) {
  return reshape(g, cont(g, permute(g, x, kHeadsInside)), {width, columns});
}

}  // namespace

std::span<const AdapterStack> GraphWeights::adapters_of(WeightSlot slot, std::int64_t layer) const {
  if (step_ == nullptr) return {};
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

Result<AdaptedColumns> GraphWeights::adapted(const Dim& columns) const {
  if (columns == step_->token_count) return step_->adapted_tokens;
  if (columns == step_->output_count) return step_->adapted_outputs;
  return fail(ErrorCode::kInternal, "a product of {} columns has adapters", columns.max);
}

/// Columns of x [rows, ..]. Weights that read the same x share them.
Result<Value> GraphWeights::picked(Operand x, const AdaptedColumns& at) {
  if (!x) return x;
  const auto [known, is_new] =
      picked_.try_emplace(std::pair(x->id, at.columns.id), static_cast<NodeId>(kNoNode));
  if (!is_new) return Value{known->second};
  SHUNT_ASSIGN(const Value made, get_rows(g_, x, at.columns));
  known->second = made.id;
  return made;
}

/// A name for people.
Result<Value> GraphWeights::named_change(Result<Value> change, const AdapterStack& stack) {
  if (change) SHUNT_TRY(g_.name(change, "change of " + stack.weight));
  return change;
}

/// y with the change of some columns; both [rows, ..].
Result<Value> GraphWeights::add_change(Operand y, Operand change, const AdaptedColumns& at) {
  const Result<Value> changed = add(g_, get_rows(g_, y, at.columns), change);
  // A copy, as a device that only multiplies makes y and can't write rows.
  return set_rows(g_, dup(g_, y), changed, at.columns);
}

/// The change of y [rows, columns] for x [inputs, columns].
Result<Value> GraphWeights::change_of_one(Operand x, const AdaptedColumns& at,
                                          const AdapterStack& stack, const Adapted& leaves) {
  const Result<Value> some = picked(x, at);
  if (!stack.by_adapter) {
    const Result<Value> rows = mul(g_, matmul(g_, leaves.a, some), at.row_scales);
    return named_change(matmul(g_, leaves.b, rows), stack);
  }
  const std::int64_t inputs = stack.a->tensor.size(0);
  const std::int64_t outputs = stack.b->tensor.size(1);
  const Result<Value> rows =
      mul(g_, matmul_id(g_, leaves.a, reshape(g_, some, {inputs, 1, at.count}), at.ids), at.scales);
  Result<Value> changes = named_change(matmul_id(g_, leaves.b, rows, at.ids), stack);
  if (step_->adapter_uses > 1) changes = repeat_back(g_, changes, {outputs, 1, at.count});
  return reshape(g_, changes, {outputs, at.count});
}

/// y [rows, columns, heads] and x [inputs, columns, heads], whose heads have matrices of their own.
Result<Value> GraphWeights::add_change_by_heads(Operand y, Operand x, const AdaptedColumns& at,
                                                const AdapterStack& stack, const Adapted& leaves) {
  SHUNT_ASSIGN(const Tensor of_x, g_.find(x));
  const Dim columns = of_x.shape[1];
  const std::int64_t heads = of_x.size(2);
  const std::int64_t inputs = of_x.size(0);
  const std::int64_t outputs = stack.b->tensor.size(1);
  const Result<Value> some =
      get_rows(g_, with_heads_inside(g_, x, inputs * heads, columns), at.columns);
  const Result<Value> by_head =
      cont(g_, permute(g_, reshape(g_, some, {inputs, heads, at.count}), kHeadsInside));
  const Result<Value> rows = mul(g_, matmul(g_, leaves.a, by_head), at.row_scales);
  const Result<Value> change = named_change(matmul(g_, leaves.b, rows), stack);
  const Result<Value> sum =
      add_change(with_heads_inside(g_, y, outputs * heads, columns),
                 with_heads_inside(g_, change, outputs * heads, at.count), at);
  return permute(g_, reshape(g_, sum, {outputs, heads, columns}), kHeadsInside);
}

Result<Value> GraphWeights::with_adapters(Result<Value> y, Operand x, WeightSlot slot,
                                          std::int64_t layer) {
  for (const AdapterStack& stack : adapters_of(slot, layer)) {
    SHUNT_ASSIGN(const Tensor of_x, g_.find(x));
    SHUNT_ASSIGN(const AdaptedColumns at, adapted(of_x.shape[1]));
    const std::int64_t of_layer = facts_of(slot).is_in == nullptr ? -1 : layer;
    const Role role = stack.by_adapter ? Role::kExpertWeight : facts_of(slot).leaf;
    const Adapted leaves = {adapter_leaf(*stack.a, role, of_layer),
                            adapter_leaf(*stack.b, role, of_layer)};
    y = of_x.size(2) == 1 ? add_change(y, change_of_one(x, at, stack, leaves), at)
                          : add_change_by_heads(y, x, at, stack, leaves);
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
    SHUNT_ASSIGN(const Tensor of_ids, g_.find(ids));
    const Dim columns = of_x.shape[2];
    SHUNT_ASSIGN(const AdaptedColumns at, adapted(columns));
    const auto leaf = [&](const gguf::TensorInfo& info) {
      return adapter_leaf(info, facts_of(slot).leaf, layer);
    };
    const std::int64_t inputs = of_x.size(0);
    const std::int64_t rows_of_x = of_x.size(1);  // 1, or one for each use
    const std::int64_t width = stack.b->tensor.size(1) * of_ids.size(0);
    const Result<Value> some =
        reshape(g_, get_rows(g_, reshape(g_, x, {inputs * rows_of_x, columns}), at.columns),
                {inputs, rows_of_x, at.count});
    const Result<Value> some_ids = get_rows(g_, ids, at.columns);
    const Result<Value> scales =
        reshape(g_, at.row_scales, {model_.adapters()->ranks(), 1, at.count});
    const Result<Value> rows = mul(g_, matmul_id(g_, leaf(*stack.a), some, some_ids), scales);
    const Result<Value> change = named_change(matmul_id(g_, leaf(*stack.b), rows, some_ids), stack);
    const Result<Value> sum =
        add_change(reshape(g_, y, {width, columns}), reshape(g_, change, {width, at.count}), at);
    y = reshape(g_, sum, {stack.b->tensor.size(1), of_ids.size(0), columns});
  }
  return y;
}

Result<Value> GraphWeights::embeddings(Operand tokens) {
  constexpr WeightSlot kSlot = WeightSlot::kEmbedding;
  Result<Value> y = get_rows(g_, weight(kSlot), tokens);
  for (const AdapterStack& stack : adapters_of(kSlot, 0)) {
    const AdaptedColumns& at = step_->adapted_tokens;
    const Result<Value> rows =
        mul(g_, get_rows(g_, adapter_leaf(*stack.a, Role::kWeight, -1), step_->adapted_ids),
            at.row_scales);
    const Result<Value> b = adapter_leaf(*stack.b, Role::kWeight, -1);
    y = add_change(y, named_change(matmul(g_, b, rows), stack), at);
  }
  return y;
}

}  // namespace shunt
