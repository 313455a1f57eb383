#include "engine/step_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/enum_table.h"

#include "graph/op.h"
#include "graph/storage_users.h"
#include "ops/matrix/matrix.h"
#include "schedule/costs/work.h"

namespace shunt {

namespace {

/// Weights of embedding and output: as products, they make logits.
std::set<const gguf::TensorInfo*> ends_of(const ModelDefinition& definition) {
  std::set<const gguf::TensorInfo*> ends;
  for (const ModelWeight& weight : definition.weights()) {
    if (weight.role == WeightRole::kEmbedding || weight.role == WeightRole::kOutput) {
      ends.insert(weight.info);
    }
  }
  return ends;
}

/// The leaves of a step that hold those weights.
std::set<NodeId> leaves_of_ends(const StepGraph& step, const ModelDefinition& definition) {
  const auto ends = ends_of(definition);
  std::set<NodeId> leaves;
  for (const WeightLeaf& weight : step.weights) {
    if (ends.contains(&weight.file_tensor())) leaves.insert(weight.leaf);
  }
  return leaves;
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

Result<Amounts> step_work(const ModelState& model, const StepShape& shape) {
  StepShape built = shape;
  built.outputs = shape.tokens;
  SHUNT_ASSIGN(const auto typed, model.build(built, model.weights.transcoded()));
  const StepGraph& step = *typed;
  const Graph& graph = step.graph;
  const std::set<NodeId> of_ends = leaves_of_ends(step, *model.definition);
  const double logits_share =
      static_cast<double>(shape.outputs) / static_cast<double>(shape.tokens);
  Amounts work = {};
  std::map<NodeId, double> bytes;  // of weights, or of views of them
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    const bool is_product = node.op == &matmul_op() || node.op == &matmul_id_op();
    for (const NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const NodeId leaf = graph.node(source).storage;
      if (!is_weight(graph.node(leaf).role)) continue;
      const bool makes_logits = is_product && of_ends.contains(leaf);
      if (makes_logits && shape.outputs == 0) continue;
      const Tensor& weight = graph.node(source).result;
      const double operations = work_of(graph, id).operations;
      if (is_product) {
        work[to_index(peak_for(weight.dtype))] += operations * (makes_logits ? logits_share : 1);
      }
      double& most = bytes[source];
      most = std::max(most, bytes_of(weight.dtype, elements_read(graph, node, weight, operations)));
    }
  }
  for (const auto& [leaf, read] : bytes) work[to_index(Peak::kRead)] += read;
  return work;
}

}  // namespace shunt
