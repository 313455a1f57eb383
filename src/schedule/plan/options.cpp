#include "schedule/plan/options.h"

#include "graph/storage_users.h"
#include "schedule/place/answers.h"
#include "schedule/plan/node_bytes.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr int kDefaultStepsInFlight = 4;
constexpr int kMostStepsInFlight = 64;

Status check_observer(const Graph& graph, const Observer& observer, int steps) {
  if (observer.nodes.empty()) return ok();
  if (steps > 1) return invalid("an observer sees one step at a time, not {} in flight", steps);
  if (!observer.visit) return invalid("an observer needs something to call");
  for (NodeId id : observer.nodes) {
    if (id < graph.size() && is_computed(graph.node(id))) continue;
    return invalid("{} is not computed: there is nothing to observe", graph.describe(id));
  }
  return ok();
}

}  // namespace

int steps_in_flight(const CompileOptions& options) {
  return options.steps_in_flight.value_or(options.observer.nodes.empty() ? kDefaultStepsInFlight
                                                                         : 1);
}

Status check_options(const Graph& graph, const Placement& placement,
                     const CompileOptions& options) {
  if (placement.decisions.size() != graph.size()) {
    return invalid("the placement is of another graph");
  }
  if (placement.devices.empty()) return invalid("the placement has no devices");
  for (const Conversion& conversion : placement.conversions) {
    const DType dtype = graph.node(conversion.leaf).result.dtype;
    if (dtype == conversion.to) continue;
    return invalid("{} is {}, but the placement needs it as {}: see with_types()",
                   graph.describe(conversion.leaf), to_string(dtype), to_string(conversion.to));
  }
  const int steps = steps_in_flight(options);
  if (steps < 1 || steps > kMostStepsInFlight) {
    return invalid("{} steps in flight; it may be 1 to {}", steps, kMostStepsInFlight);
  }
  for (NodeId id : options.observe) {
    if (id >= graph.size()) return invalid("{} can't be observed", graph.describe(id));
  }
  return check_observer(graph, options.observer, steps);
}

Result<std::vector<Address>> find_leaves(const Graph& graph, const CompileOptions& options) {
  SHUNT_TRY(check_memory(graph, options.memory));
  std::vector<Address> leaves(graph.size());
  for (const LeafMemory& leaf : options.memory) {
    const Address& at = leaf.address;
    const std::size_t bytes =
        at ? at.buffer->type().size_of(graph.node(leaf.leaf).result) : bytes_of(graph, leaf.leaf);
    if (!at || at.offset > at.buffer->size() || bytes > at.buffer->size() - at.offset) {
      return invalid("{} takes {} bytes, which are not inside the buffer it is given",
                     graph.describe(leaf.leaf), bytes);
    }
    leaves[leaf.leaf] = at;
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_leaf() && node.role != Role::kInput && !leaves[id]) {
      return invalid("{} has no memory", graph.describe(id));
    }
  }
  return leaves;
}

std::vector<NodeId> find_kept(const Graph& graph, const CompileOptions& options) {
  std::vector<NodeId> live_out(graph.outputs().begin(), graph.outputs().end());
  live_out.insert(live_out.end(), options.observe.begin(), options.observe.end());
  return live_out;
}

std::vector<bool> find_watched(const Graph& graph, const Observer& observer) {
  if (observer.nodes.empty()) return {};
  std::vector<bool> watched(graph.size(), false);
  for (NodeId id : observer.nodes) watched[id] = true;
  return watched;
}

}  // namespace shunt
