#include "engine/step_work.h"

#include <algorithm>
#include <map>

#include "graph/op.h"
#include "ops/matrix/matrix.h"
#include "schedule/costs_work.h"
#include "schedule/storage_users.h"

namespace shunt {

namespace {

bool is_weight(const Node& node) {
  return node.is_leaf() && (node.role == Role::kWeight || node.role == Role::kExpertWeight);
}

bool has_extent(const Tensor& tensor, const Dim& extent) {
  return std::ranges::any_of(
      tensor.shape, [&](const Dim& dim) { return !dim.is_fixed() && dim.extent == extent.extent; });
}

/// Elements of the weight that a node looks at.
double elements_read(const Graph& graph, const Node& node, const Tensor& weight,
                     double operations) {
  const bool picks = std::ranges::any_of(node.sources, [&](NodeId source) {
    return source != kNoNode && trait(graph.node(source).result.dtype).integer;
  });
  const auto all = static_cast<double>(element_count(weight.shape));
  return picks ? std::min(all, operations) : all;
}

}  // namespace

Result<Amounts> step_work(const ModelState& model, const StepShape& shape, bool has_output) {
  SHUNT_ASSIGN(const StepGraph step, model.build(shape, model.transcoded));
  const Graph& graph = step.graph;
  Amounts work = {};
  std::map<NodeId, double> bytes;  // of weights, or of what is seen of them
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_computed(node) || (!has_output && has_extent(node.result, step.output_count))) continue;
    for (const NodeId source : node.sources) {
      if (source == kNoNode || !is_weight(graph.node(graph.node(source).storage))) continue;
      const Tensor& weight = graph.node(source).result;
      const double operations = work_of(graph, id).operations;
      const bool is_product = node.op == &matmul_op() || node.op == &matmul_id_op();
      if (is_product) work[static_cast<std::size_t>(peak_for(weight.dtype))] += operations;
      double& most = bytes[source];
      most = std::max(most, bytes_of(weight.dtype, elements_read(graph, node, weight, operations)));
    }
  }
  for (const auto& [leaf, read] : bytes) work[static_cast<std::size_t>(Peak::kRead)] += read;
  return work;
}

}  // namespace shunt
