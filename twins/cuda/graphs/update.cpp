// cuGraphExecUpdate: the nodes of a graph are paired with the steps of a plan, from the last ones
// back along the edges.
#include "cuda/graphs/update.h"

#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda/call.h"
#include "cuda/graphs/graphs.h"

namespace cuda_twin {
namespace {

class Pairing {
 public:
  Pairing(const Plan& plan, const Graph& graph, CUgraphExecUpdateResultInfo& info,
          const char*& reason)
      : plan_(plan), graph_(graph), info_(info), reason_(reason) {}

  bool pair_all() {
    if (plan_.steps.size() != graph_.nodes.size())
      return changed(nullptr, nullptr, "the graphs have different numbers of nodes");
    node_of_step_.resize(plan_.steps.size(), nullptr);
    if (!pair_ends()) return false;
    while (!open_.empty()) {
      const Node& node = *open_.front();
      open_.pop_front();
      if (!pair_dependencies(node)) return false;
    }
    if (step_of_node_.size() == graph_.nodes.size()) return true;
    return changed(nullptr, nullptr, "the graph has a cycle");
  }
  const Node& node_of(std::size_t step) const { return *node_of_step_[step]; }

 private:
  bool changed(const Node* node, const Node* from, const char* why) {
    info_ = {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node == nullptr ? nullptr : node->handle,
             from == nullptr ? nullptr : from->handle};
    reason_ = why;
    return false;
  }

  bool pair(const Node& node, std::size_t step, const Node* later) {
    const auto at = step_of_node_.find(&node);
    const bool known = at != step_of_node_.end() || node_of_step_[step] != nullptr;
    if (known && (at == step_of_node_.end() || at->second != step))
      return changed(later, &node, "an edge leads from another node");
    if (known) return true;
    step_of_node_[&node] = step;
    node_of_step_[step] = &node;
    open_.push_back(&node);
    return true;
  }

  std::vector<std::size_t> end_steps() const {
    std::vector<bool> inner(plan_.steps.size());
    for (const Step& step : plan_.steps)
      for (const std::size_t from : step.before) inner[from] = true;
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < inner.size(); ++i)
      if (!inner[i]) ends.push_back(i);
    return ends;
  }

  bool pair_ends() {
    const std::vector<std::size_t> ends = end_steps();
    std::size_t count = 0;
    for (const auto& node : graph_.nodes) {
      if (!node->after.empty()) continue;
      if (count == ends.size())
        return changed(node.get(), nullptr, "more nodes are the last ones of a path");
      if (!pair(*node, ends[count++], nullptr)) return false;
    }
    return count == ends.size() ||
           changed(nullptr, nullptr, "fewer nodes are the last ones of a path");
  }

  bool pair_dependencies(const Node& node) {
    const Step& step = plan_.steps[step_of_node_[&node]];
    if (node.before.size() != step.before.size())
      return changed(&node, nullptr, "a node has another number of dependencies");
    for (std::size_t i = 0; i < step.before.size(); ++i)
      if (!pair(*node.before[i].from, step.before[i], &node)) return false;
    return true;
  }

  const Plan& plan_;
  const Graph& graph_;
  CUgraphExecUpdateResultInfo& info_;
  const char*& reason_;
  std::unordered_map<const Node*, std::size_t> step_of_node_;
  std::vector<const Node*> node_of_step_;
  std::deque<const Node*> open_;
};

bool update_step(Step& step, const Node& node, CUgraphExecUpdateResultInfo& info,
                 const char*& reason) {
  const Graph* const child = child_of(node);
  if (step.type != node.type) {
    info = {CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, node.handle, nullptr};
    reason = "the type of a node changed";
    return false;
  }
  if (child != nullptr) {
    step.child = updated(*step.child, *child, info, reason);
    return step.child != nullptr;
  }
  const CUgraphExecUpdateResult result =
      check_change(step, node.work, node.context.get(), false, reason);
  if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    info = {result, node.handle, nullptr};
    return false;
  }
  step.work = node.work;
  step.context = node.context;
  return true;
}

CUresult update(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo& info) {
  const GraphsLock lock = lock_graphs();
  const std::shared_ptr<GraphExec> exec = driver().graph_execs.find(exec_handle);
  const Graph* const graph = graph_of(graph_handle);
  if (exec == nullptr || graph == nullptr || outermost(*graph).capturing)
    return refuse(CUDA_ERROR_INVALID_VALUE, "no executable graph, or no graph");
  const char* reason = "";
  std::shared_ptr<const Plan> plan = updated(*exec->plan, *graph, info, reason);
  if (plan == nullptr) return refuse(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, reason);
  exec->plan = std::move(plan);
  info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
  return CUDA_SUCCESS;
}

}  // namespace

std::shared_ptr<Plan> updated(const Plan& plan, const Graph& graph,
                              CUgraphExecUpdateResultInfo& info, const char*& reason) {
  Pairing pairing(plan, graph, info, reason);
  if (!pairing.pair_all()) return nullptr;
  auto copy = std::make_shared<Plan>(plan);
  for (std::size_t i = 0; i < copy->steps.size(); ++i)
    if (!update_step(copy->steps[i], pairing.node_of(i), info, reason)) return nullptr;
  return copy;
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  return call(__func__, [&] {
    CUgraphExecUpdateResultInfo outcome = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    const CUresult code = update(exec, graph, outcome);
    if (info != nullptr) *info = outcome;
    return code;
  });
}

}  // extern "C"
