#include "schedule/place_facts.h"

#include <algorithm>

#include "base/fail.h"
#include "schedule/storage_users.h"

namespace shunt {

bool is_weight(Role role) {
  return role == Role::kWeight || role == Role::kExpertWeight;
}

Result<PlaceFacts> PlaceFacts::create(const Graph& graph, std::span<Device* const> devices,
                                      const PlaceOptions& options) {
  PlaceFacts facts;
  facts.graph_ = &graph;
  facts.devices_.assign(devices.begin(), devices.end());
  for (Device* device : devices) facts.infos_.push_back(device->info());
  if (devices.empty() || facts.infos_.back().kind != DeviceKind::kCpu) {
    return invalid("a placement needs a CPU as its last device");
  }
  facts.memory_.assign(graph.size(), nullptr);
  for (const LeafMemory& leaf : options.memory) {
    if (leaf.leaf < graph.size() && leaf.address)
      facts.memory_[leaf.leaf] = &leaf.address.buffer->type();
  }
  facts.users_ = storage_users(graph);
  facts.answers_ = Answers::ask(graph, devices, options);
  facts.writers_.resize(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!is_computed(graph.node(id))) continue;
    if (graph.node(id).writes_storage) facts.writers_[graph.node(id).storage].push_back(id);
    if (!facts.can(facts.cpu(), id)) {
      return fail(ErrorCode::kUnsupported, "{}: {} can't compute it: {}", graph.describe(id),
                  facts.name(facts.cpu()), facts.answer(id, facts.cpu()).facts());
    }
  }
  return facts;
}

bool PlaceFacts::can_own(int index, NodeId id) const {
  return can(index, id) && std::all_of(writers_[id].begin(), writers_[id].end(),
                                       [&](NodeId writer) { return can(index, writer); });
}

std::vector<NodeId> PlaceFacts::weights_of(NodeId id) const {
  std::vector<NodeId> weights;
  for (NodeId source : graph_->node(id).sources) {
    if (source == kNoNode) continue;
    const NodeId owner = graph_->node(source).storage;
    if (is_weight(graph_->node(owner).role)) weights.push_back(owner);
  }
  return weights;
}

const BufferType& PlaceFacts::memory_if_on(NodeId owner, int index) const {
  const Node& node = graph_->node(owner);
  if (node.is_leaf() && memory_[owner] != nullptr) return *memory_[owner];
  if (node.is_leaf() && node.role == Role::kInput) return host_memory();
  return device(index).memory();
}

}  // namespace shunt
