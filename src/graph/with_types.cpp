// A graph made again, node by node, with other element types of some leaves.
#include <map>

#include "graph/copy_leaf.h"
#include "shunt/message.h"

namespace shunt {

namespace {

Result<Tensor> as_type(const Tensor& tensor, DType dtype) {
  if (!is_contiguous(tensor)) return invalid("{} is not contiguous", to_string(tensor));
  return make_tensor(dtype, tensor.shape);
}

}  // namespace

Result<Graph> with_types(const Graph& graph, std::span<const LeafType> types) {
  std::map<NodeId, DType> wanted;
  for (const LeafType& type : types) {
    if (type.leaf >= graph.size() || !graph.node(type.leaf).is_leaf()) {
      return invalid("{} is not a leaf", graph.describe(type.leaf));
    }
    wanted[type.leaf] = type.dtype;
  }
  GraphBuilder g;
  SHUNT_TRY(copy_dynamic_dims(g, graph));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!node.is_leaf()) {
      const Result<Value> made =
          g.apply(*node.op, node.params, std::span<const NodeId>(node.sources));
      SHUNT_TRY(g.name(made, node.name));
      continue;
    }
    Tensor tensor = node.result;
    if (const auto found = wanted.find(id); found != wanted.end()) {
      auto made = as_type(tensor, found->second);
      if (!made) return std::move(made.error()).with_context(graph.describe(id));
      tensor = *made;
    }
    SHUNT_TRY(copy_leaf(g, node, node.name, tensor));
  }
  for (NodeId id : graph.outputs()) SHUNT_TRY(g.output(Value{id}, graph.node(id).name));
  return std::move(g).build();
}

}  // namespace shunt
