#include <algorithm>
#include <limits>

#include "base/guarded.h"
#include "graph/op.h"
#include "graph/overlap.h"
#include "graph/storage_users.h"
#include "shunt/graph.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// "matmul(w F32 [64, 32], F32 [63, 5])": the requested call, for the error message; "-" is an
/// optional source that is not given, though others after it are.
std::string describe_call(const Graph& graph, const Op& op, std::span<const NodeId> sources) {
  while (!sources.empty() && sources.back() == kNoNode) sources = sources.first(sources.size() - 1);
  std::string text = fmt::format("{}(", op.info().name);
  const char* separator = "";
  for (NodeId id : sources) {
    text += separator;
    separator = ", ";
    if (id == kNoNode) {
      text += "-";
      continue;
    }
    const Node& node = graph.node(id);
    if (!node.name.empty()) text += node.name + " ";
    text += to_string(node.result);
  }
  return text + ")";
}

/// Whether each dimension is fixed or a multiple of a dynamic dimension that the graph has.
bool uses_known_dynamic_dims(const Shape& shape, std::span<const DynamicDim> dynamic_dims) {
  return std::all_of(shape.begin(), shape.end(), [&](const Dim& dim) {
    return dim.is_fixed() || (dim.dynamic_dim < dynamic_dims.size() && dim.factor >= 0 &&
                              dim.max == dim.factor * dynamic_dims[dim.dynamic_dim].max);
  });
}

/// That no source of a node that writes into its first one overlaps with the written part, unless
/// the two are the same. The order in which elements are written must make no difference.
Status expect_apart(const Graph& graph, const Op& op, std::span<const NodeId> sources) {
  const Node& first = graph.node(sources[0]);
  const Placed written = {first.result, first.offset};
  for (std::size_t i = 1; i < sources.size(); ++i) {
    if (sources[i] == kNoNode) continue;
    const Node& source = graph.node(sources[i]);
    if (source.storage != first.storage) continue;
    const Placed read = {source.result, source.offset};
    if (!overlap(written, read)) continue;
    if (op.info().place_by_place && same_elements(written, read)) continue;
    return invalid(
        "{}: {} and {} overlap in the memory of {}, so that the result would depend on "
        "the order of the work",
        describe_call(graph, op, sources), op.info().sources[i], op.info().sources[0],
        graph.describe(first.storage));
  }
  return ok();
}

bool is_optional(std::string_view source_name) {
  return source_name.ends_with('?');
}

}  // namespace

GraphBuilder::GraphBuilder() {
  graph_.dynamic_dims_.push_back({"none", 0});
}

Result<Dim> GraphBuilder::dynamic_dim(std::string name, std::int64_t max) {
  if (max < 0)
    return invalid("dynamic dimension {}: its maximum is {}, which is negative", name, max);
  if (graph_.dynamic_dims_.size() >= kMaxDynamicDims) {
    return invalid("dynamic dimension {}: a graph has at most {} dynamic dimensions", name,
                   kMaxDynamicDims - 1);
  }
  graph_.dynamic_dims_.push_back({std::move(name), max});
  return Dim(static_cast<DynamicDimId>(graph_.dynamic_dims_.size() - 1), max);
}

Result<Value> GraphBuilder::leaf(std::string name, const Tensor& tensor, Role role) {
  if (!uses_known_dynamic_dims(tensor.shape, graph_.dynamic_dims())) {
    return invalid("{} {}: a dimension uses a dynamic dimension that is not of this graph",
                   to_string(role), name);
  }
  if (graph_.nodes_.size() >= kNoNode) return invalid("a graph can't have more nodes");
  const NodeId id = static_cast<NodeId>(graph_.nodes_.size());
  Node node;
  node.result = tensor;
  node.role = role;
  node.name = std::move(name);
  node.storage = id;
  graph_.nodes_.push_back(std::move(node));
  return Value{id};
}

Result<Value> GraphBuilder::weight(std::string name, const Tensor& tensor, Role role) {
  if (!is_weight(role)) {
    return invalid("weight {}: {} is not a weight's role", name, to_string(role));
  }
  return leaf(std::move(name), tensor, role);
}

Result<Value> GraphBuilder::input(std::string name, const Tensor& tensor) {
  return leaf(std::move(name), tensor, Role::kInput);
}

Result<Value> GraphBuilder::cache(std::string name, const Tensor& tensor) {
  return leaf(std::move(name), tensor, Role::kCache);
}

Status GraphBuilder::check(Operand value) const {
  if (!value) return Error(value.error());
  if (value->id >= graph_.nodes_.size())
    return invalid("value #{} is not of this graph", value->id);
  return ok();
}

Result<Tensor> GraphBuilder::find(Operand value) const {
  SHUNT_TRY(check(value));
  return tensor(*value);
}

Status GraphBuilder::name(Operand value, std::string name) {
  SHUNT_TRY(check(value));
  graph_.nodes_[value->id].name = std::move(name);
  return ok();
}

Status GraphBuilder::output(Operand value, std::string name) {
  SHUNT_TRY(check(value));
  Node& node = graph_.nodes_[value->id];
  if (node.is_leaf())
    return invalid("output {}: it is a leaf ({}), not computed", name, to_string(node.role));
  if (node.role == Role::kOutput)
    return invalid("output {}: it is marked already, as {}", name, node.name);
  node.role = Role::kOutput;
  node.name = std::move(name);
  graph_.outputs_.push_back(value->id);
  return ok();
}

Result<Value> GraphBuilder::apply(const Op& op, Params params,
                                  std::initializer_list<const Result<Value>*> sources) {
  std::vector<NodeId> ids;
  for (const Result<Value>* source : sources) {
    if (!*source) return Error(source->error());
    ids.push_back((*source)->id);
  }
  return apply(op, std::move(params), std::span<const NodeId>(ids));
}

Result<Value> GraphBuilder::apply(const Op& op, Params params, std::span<const NodeId> sources) {
  const OpInfo& info = op.info();
  std::vector<NodeId> ids(sources.begin(), sources.end());
  if (ids.size() > info.sources.size()) {
    return invalid("{}: takes {} sources, not {}", info.name, info.sources.size(), ids.size());
  }
  ids.resize(info.sources.size(), kNoNode);
  std::vector<const Tensor*> tensors;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNoNode) {
      if (!is_optional(info.sources[i]))
        return invalid("{}: {} is not given", info.name, info.sources[i]);
      tensors.push_back(nullptr);
      continue;
    }
    if (ids[i] >= graph_.nodes_.size())
      return invalid("{}: value #{} is not of this graph", info.name, ids[i]);
    tensors.push_back(&graph_.nodes_[ids[i]].result);
  }
  if (!op.accepts(params)) {
    const std::string defaults = op.describe_defaults();
    return invalid("{}: its parameters are of another type; it takes {}",
                   describe_call(graph_, op, ids), defaults.empty() ? "none" : defaults);
  }
  auto inferred = guarded([&] { return op.infer(tensors, params); });
  if (!inferred) return std::move(inferred.error()).with_context(describe_call(graph_, op, ids));

  if (!uses_known_dynamic_dims(inferred->tensor.shape, graph_.dynamic_dims())) {
    return invalid("{}: its result would use a dynamic dimension that is not of this graph",
                   describe_call(graph_, op, ids));
  }

  if (graph_.nodes_.size() >= kNoNode) return invalid("a graph can't have more nodes");
  Node node;
  node.op = &op;
  node.params = std::move(params);
  node.result = inferred->tensor;
  node.storage = static_cast<NodeId>(graph_.nodes_.size());
  if (info.storage != Storage::kOwn) {
    const Node& first = graph_.nodes_[ids[0]];
    node.storage = first.storage;
    node.offset = first.offset + inferred->offset;
    node.writes_storage = info.storage == Storage::kIntoFirst;
    const Role role = graph_.nodes_[node.storage].role;
    if (node.writes_storage && (is_weight(role) || role == Role::kInput)) {
      return invalid("{}: it would write into {}, which is of role {}",
                     describe_call(graph_, op, ids), graph_.describe(node.storage),
                     to_string(role));
    }
    if (node.writes_storage) SHUNT_TRY(expect_apart(graph_, op, ids));
  }
  node.sources = std::move(ids);
  graph_.nodes_.push_back(std::move(node));
  return Value{static_cast<NodeId>(graph_.nodes_.size() - 1)};
}

Result<Graph> GraphBuilder::build() && {
  if (graph_.outputs_.empty()) {
    // A graph may exist for its writes into caches; without these either it does nothing.
    bool writes = false;
    for (const Node& node : graph_.nodes_) writes = writes || node.writes_storage;
    if (!writes) return invalid("the graph has no outputs");
  }
  Graph graph = std::move(graph_);
  *this = GraphBuilder();
  return graph;
}

}  // namespace shunt
