#include "schedule/storage_users.h"

#include "graph/op.h"

namespace shunt {

bool is_computed(const Node& node) {
  return !node.is_leaf() && node.op->info().storage != Storage::kView;
}

NodeId maker_of(const Graph& graph, NodeId id) {
  while (!graph.node(id).is_leaf() && !is_computed(graph.node(id)))
    id = graph.node(id).sources.front();
  return id;
}

std::vector<std::vector<NodeId>> storage_users(const Graph& graph) {
  std::vector<std::vector<NodeId>> users(graph.size());
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      auto& list = users[graph.node(source).storage];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  return users;
}

}  // namespace shunt
