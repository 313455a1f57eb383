#include "engine/load/pin_weights.h"

#include <utility>

#include "graph/gathered.h"
#include "graph/storage_users.h"

namespace shunt {

namespace {

/// The ranges of weights that a step's placement sends from host memory as a whole. Of a gathered
/// weight only slices are sent.
Status find_streamed(const ModelState& model, const StepShape& shape, RangesByDevice& ranges) {
  SHUNT_ASSIGN(const auto built, model.build(shape, model.weights.transcoded()));
  const StepGraph& step = *built;
  const std::vector<LeafMemory> memory = model.memory_of(step);
  SHUNT_ASSIGN(const Placement placement,
               model.place_step(built, memory, model.devices, model.residency.most_streamed));
  std::map<NodeId, Address> weights;
  const StorageUsers users(step.graph);
  for (const LeafMemory& leaf : memory) {
    if (!gathered_of(step.graph, leaf.leaf, users)) weights.emplace(leaf.leaf, leaf.address);
  }
  for (NodeId id = 0; id < step.graph.size(); ++id) {
    const Node& node = step.graph.node(id);
    const int number = placement.decisions[id].device;
    if (node.is_leaf() || number < 0) continue;
    Device& device = device_at(placement.devices, number);
    for (const NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const auto weight = weights.find(step.graph.node(source).storage);
      if (weight == weights.end()) continue;
      const auto& [leaf, at] = *weight;
      const std::byte* const start = at.buffer->host_data();
      if (start == nullptr || device.can_read(at.buffer->type())) continue;
      const Tensor& tensor = step.graph.node(leaf).result;
      ranges[&device].push_back({start + at.offset, at.buffer->type().size_of(tensor)});
    }
  }
  return ok();
}

}  // namespace

void pin_streamed_weights(ModelState& model, std::span<const StepShape> steps,
                          std::optional<std::uint64_t> available) {
  const PinnedRanges before = std::exchange(model.weights.pinned, {});
  if (model.devices.size() == 1) return;
  RangesByDevice streamed;
  for (const StepShape& shape : steps) {
    // A step that can't be placed was reported already, when it was fitted.
    if (!find_streamed(model, shape, streamed)) return;
  }
  model.weights.pinned =
      pin_ranges(streamed, model.devices, before, available, "weights", model.notes);
}

}  // namespace shunt
