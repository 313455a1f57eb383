#include "engine/tied_output.h"

#include <algorithm>

#include "base/fail.h"
#include "schedule/answers.h"
#include "schedule/storage_users.h"

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

}  // namespace

Status part_tied_output(ModelState& model, const StepShape& shape) {
  auto apart = model.definition->with_output_apart();
  if (apart == nullptr) return ok();
  SHUNT_ASSIGN(const StepGraph step, apart->build(shape));
  const NodeId embedding = leaf_of(WeightRole::kEmbedding, *apart, step);
  const NodeId output = leaf_of(WeightRole::kOutput, *apart, step);
  if (embedding == kNoNode || output == kNoNode) return ok();
  PlaceOptions options;
  options.transcode = model.transcode;
  const Answers answers = Answers::ask(step.graph, model.devices, options);
  const auto users = storage_users(step.graph);
  const auto accelerators = static_cast<int>(model.devices.size()) - 1;
  for (int device = 0; device < accelerators; ++device) {
    const auto can = [&](NodeId user) { return static_cast<bool>(answers.of(user, device)); };
    if (!std::ranges::all_of(users[output], can)) continue;
    if (std::ranges::all_of(users[embedding], can)) continue;
    model.definition = std::move(apart);
    return ok();
  }
  return ok();
}

}  // namespace shunt
