#include "engine/load/tied_output.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt {

namespace {

/// The leaf of the weight that has a role; absent if the step has none.
NodeId leaf_of(WeightRole role, const ModelDefinition& definition, const StepGraph& step) {
  for (const ModelWeight& weight : definition.weights()) {
    if (weight.role != role) continue;
    const auto found = std::ranges::find(step.weights, weight.info, &WeightLeaf::info);
    if (found != step.weights.end()) return found->leaf;
  }
  return kNoNode;
}

bool has_leaf(const PlacementFile& file, NodeId leaf, const Graph& graph) {
  return std::ranges::any_of(file.lines, [&](const PlacementLine& line) {
    return line.node == leaf && line.name == graph.node(leaf).name;
  });
}

/// Whether a step is to have two leaves.
bool is_wanted_apart(const ModelState& model, const ModelDefinition& apart,
                     const std::shared_ptr<const StepGraph>& built) {
  const StepGraph& step = *built;
  const NodeId embedding = leaf_of(WeightRole::kEmbedding, apart, step);
  const NodeId output = leaf_of(WeightRole::kOutput, apart, step);
  if (embedding == kNoNode || output == kNoNode) return false;
  if (model.placement.file) return has_leaf(*model.placement.file, output, step.graph);
  const auto wanted = model.place_freely(built);
  if (!wanted) return false;  // placing the model itself reports it
  const DeviceIndex home = wanted->decisions[output].device;
  return !model.devices.is_cpu(home) && home != wanted->decisions[embedding].device;
}

}  // namespace

Status part_tied_output(ModelState& model, std::span<const StepShape> steps) {
  if (model.devices.size() == 1 && !model.placement.file) return ok();
  std::shared_ptr<const ModelDefinition> apart = model.definition->with_output_apart();
  if (apart == nullptr) return ok();
  for (const StepShape& shape : steps) {
    SHUNT_ASSIGN(const auto step, model.steps->graph(apart, shape));
    if (!is_wanted_apart(model, *apart, step)) continue;
    model.definition = std::move(apart);
    return ok();
  }
  return ok();
}

}  // namespace shunt
