// A model's weights as leaves of a graph, and the products and norms that they make.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "model/described_model.h"

namespace shunt {

/// Each call passes on the first error, which comes out at the end.
class GraphWeights {
 public:
  /// Weights become leaves of `role`, kWeight or kCache, of their file's type, or of F32 if they
  /// are caches. A tensor that is never trained is a weight in any case.
  GraphWeights(GraphBuilder& g, const DescribedModel& model, Role role)
      : g_(g), model_(model), role_(role) {}

  /// Products have the changes of the model's adapters from now on. `step` has the inputs that say
  /// which adapters its tokens use; it must outlive this.
  void use_adapters(const StepGraph& step) { step_ = &step; }

  /// Those asked for so far.
  const std::vector<WeightLeaf>& leaves() const { return leaves_; }

  bool has(WeightSlot slot, std::int64_t layer = 0) const {
    return model_.find(slot, layer) != nullptr;
  }
  /// The leaf of a weight, made when it is first asked for; absent if the file lacks it.
  Result<Value> weight(WeightSlot slot, std::int64_t layer = 0);
  /// The product of a matrix, for any number of matrices: x [inputs, columns, matrices].
  Result<Value> product(Operand x, WeightSlot slot, std::int64_t layer = 0);
  /// The products of experts: x [inputs, 1 or uses, columns], ids [uses, columns].
  Result<Value> expert_product(Operand x, Operand ids, WeightSlot slot, std::int64_t layer);
  /// The embeddings of tokens.
  Result<Value> embeddings(Operand tokens);
  /// y = W x, with the changes of adapters to W.
  Result<Value> with_adapters(Result<Value> y, Operand x, WeightSlot slot, std::int64_t layer = 0);
  /// The product of a matrix, with its bias if there is one. The result has the matrix's name.
  Result<Value> linear(Operand x, WeightSlot slot, WeightSlot bias, std::int64_t layer);
  Result<Value> linear(Operand x, WeightSlot slot, std::int64_t layer) {
    return linear(x, slot, WeightSlot::kCount, layer);
  }
  /// The model's norm of each row, times a weight. x itself if the file lacks the weight.
  Result<Value> norm(Operand x, WeightSlot slot, std::int64_t layer = 0,
                     WeightSlot bias = WeightSlot::kCount);
  /// The same, always of the root mean square, with the model's epsilon or another one.
  Result<Value> rms(Operand x, WeightSlot slot, std::int64_t layer);
  Result<Value> rms(Operand x, WeightSlot slot, std::int64_t layer, float eps);
  /// Gives a result a name for people: "blk.3.attention".
  Result<Value> named(Result<Value> value, std::int64_t layer, std::string_view what);

 private:
  /// The leaves of a stack.
  struct Adapted {
    Result<Value> a;
    Result<Value> b;
  };
  std::span<const AdapterStack> adapters_of(WeightSlot slot, std::int64_t layer) const;
  Result<Value> adapter_leaf(const gguf::TensorInfo& info, Role role, std::int64_t layer);
  /// The columns that use adapters, of all of the step's tokens or outputs.
  Result<AdaptedColumns> adapted(const Dim& columns) const;
  Result<Value> change_of_one(Operand x, const AdaptedColumns& at, const AdapterStack& stack,
                              const Adapted& leaves);
  Result<Value> picked(Operand x, const AdaptedColumns& at);
  Result<Value> named_change(Result<Value> change, const AdapterStack& stack);
  Result<Value> add_change(Operand y, Operand change, const AdaptedColumns& at);
  Result<Value> add_change_by_heads(Operand y, Operand x, const AdaptedColumns& at,
                                    const AdapterStack& stack, const Adapted& leaves);

  GraphBuilder& g_;
  const DescribedModel& model_;
  Role role_;
  const StepGraph* step_ = nullptr;  // of the adapters in use; null: none
  std::map<const gguf::TensorInfo*, NodeId> adapter_leaves_;
  std::map<std::pair<NodeId, NodeId>, NodeId> picked_;  // by x and AdaptedColumns::columns
  std::map<std::pair<WeightSlot, std::int64_t>, NodeId> made_;
  std::vector<WeightLeaf> leaves_;
};

}  // namespace shunt
