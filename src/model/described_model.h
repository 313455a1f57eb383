// A model that is read from a file by a description.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/to_size.h"
#include "model/adapters/adapter_stacks.h"
#include "model/architecture_keys.h"
#include "model/description.h"
#include "model/weight_slots.h"

namespace shunt {

/// Reads numbers from the keys of a file into a description. The number of layers and the width
/// are there already (read_common()).
using Describe = Status (*)(ArchitectureKeys& keys, Description& model);

/// The description of a file by its keys, with all numbers but those of tensors. Of a file without
/// tensors: of the model that is to be made.
Result<Description> describe_file(ArchitectureKeys& keys, Describe describe);

/// Const: may be used from many threads.
class DescribedModel final : public ModelDefinition {
 public:
  /// BadFile for a file without a weight that is needed, or with one of another size.
  static Result<std::unique_ptr<ModelDefinition>> read(const gguf::File& file,
                                                       std::string_view architecture,
                                                       Describe describe);

  const ModelShape& shape() const override { return shape_; }
  Result<StepGraph> build(const StepShape& step) const override;
  Result<LossGraph> build_loss(GraphBuilder& g, const LossShape& shape) const override;
  std::vector<ModelWeight> weights() const override;
  bool may_leave(std::string_view tensor) const override;
  const std::set<std::string>& keys() const override { return keys_.read(); }
  std::shared_ptr<const ModelDefinition> with_output_apart() const override;
  std::vector<SplitGroup> split_groups() const override;
  Status give_embeddings() override;
  const gguf::TensorInfo* model_weight(WeightSlot slot) const override { return find(slot); }
  Result<std::shared_ptr<const AdapterStacks>> adapt(std::span<const AdapterFile> files,
                                                     std::uint32_t part) override;

  const Description& description() const { return model_; }
  /// The name of a weight that the architecture has.
  std::string name(WeightSlot slot, std::int64_t layer) const;
  /// Null: there are none.
  const AdapterStacks* adapters() const { return adapters_.get(); }
  /// Null: the file lacks it, or the architecture. `layer` is 0 for weights of no layer.
  const gguf::TensorInfo* find(WeightSlot slot, std::int64_t layer = 0) const {
    const auto& of_slot = weights_[static_cast<std::size_t>(slot)];
    return to_size(layer) < of_slot.size() ? of_slot[to_size(layer)] : nullptr;
  }

 private:
  DescribedModel(const gguf::File& file, std::string_view architecture)
      : file_(file), keys_(file, std::string(architecture)) {}
  Status check_layers() const;
  Status find_weights();
  Result<AdaptedWeight> find_adapted(std::string_view name) const;
  Status check_adapters_are_used(std::span<const AdapterFile> files) const;
  void measure();

  gguf::File file_;  // keeps the tensors' descriptions
  ArchitectureKeys keys_;
  Description model_;
  bool embeddings_ = false;  // are the results
  ModelShape shape_;
  std::array<std::vector<const gguf::TensorInfo*>, kSlotCount> weights_;  // by slot, then layer
  std::shared_ptr<const AdapterStacks> adapters_;
  gguf::TensorInfo output_;  // of with_output_apart(): the embedding's, again
};

/// An architecture that is read by this description.
template <Describe describe, const std::string_view& name>
Result<std::unique_ptr<ModelDefinition>> read_described(const gguf::File& file) {
  return DescribedModel::read(file, name, describe);
}

}  // namespace shunt
