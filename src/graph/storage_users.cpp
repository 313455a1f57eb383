#include "graph/storage_users.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/op.h"

namespace shunt {

bool is_computed(const Node& node) {
  return !node.is_leaf() && node.op->info().storage != Storage::kView;
}

bool is_weight(Role role) {
  return role == Role::kWeight || role == Role::kExpertWeight;
}

NodeId maker_of(const Graph& graph, NodeId id) {
  while (!graph.node(id).is_leaf() && !is_computed(graph.node(id)))
    id = graph.node(id).sources.front();
  return id;
}

StorageUsers::StorageUsers(const Graph& graph) : begins_(graph.size() + 1, 0) {
  std::vector<NodeId> last(graph.size());  // user of each owner, in the walk under way
  const auto for_each_use = [&](const auto& visit) {
    std::ranges::fill(last, kNoNode);
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (!is_computed(node)) continue;
      for (const NodeId source : node.sources) {
        if (source == kNoNode) continue;
        const NodeId owner = graph.node(source).storage;
        if (std::exchange(last[owner], id) != id) visit(owner, id);
      }
    }
  };
  for_each_use([&](NodeId owner, NodeId) { ++begins_[owner + 1]; });
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  users_.resize(begins_.back());
  std::vector<std::size_t> next = begins_;
  for_each_use([&](NodeId owner, NodeId user) { users_[next[owner]++] = user; });
}

SegmentUsers::SegmentUsers(const Graph& graph, std::span<const NodeId> nodes)
    : nodes_(nodes.begin(), nodes.end()) {
  std::ranges::sort(nodes_);
  std::vector<Use> uses;
  for (const NodeId id : nodes_) {
    const Node& node = graph.node(id);
    for (const NodeId source : node.sources) {
      if (source != kNoNode) uses.push_back({graph.node(source).storage, id});
    }
    if (node.writes_storage) writers_.push_back({node.storage, id});
  }
  std::ranges::sort(uses);
  std::ranges::sort(writers_);
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  for (const Use& use : uses) {
    owners_.push_back(use.owner);
    users_.push_back(use.user);
  }
}

bool SegmentUsers::contains(NodeId id) const {
  return std::ranges::binary_search(nodes_, id);
}

std::span<const NodeId> SegmentUsers::of(NodeId owner) const {
  const auto found = std::ranges::equal_range(owners_, owner);
  const auto first = static_cast<std::size_t>(found.begin() - owners_.begin());
  return std::span(users_).subspan(first, found.size());
}

bool SegmentUsers::writes(NodeId owner, NodeId first, NodeId last) const {
  const auto found = std::ranges::lower_bound(writers_, Use{owner, first});
  return found != writers_.end() && found->owner == owner && found->user <= last;
}

}  // namespace shunt
