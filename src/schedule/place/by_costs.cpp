#include "schedule/place/by_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/gathered.h"
#include "graph/storage_users.h"
#include "schedule/place/optimize/makespan.h"
#include "schedule/place/optimize/optimize.h"
#include "schedule/place/rules.h"
#include "shunt/costs.h"
#include "tensor/bytes_of.h"

namespace shunt {

namespace {

class ProblemMaker {
 public:
  ProblemMaker(const PlaceFacts& facts, const PinnedNodes& pinned,
               const std::vector<Decision>& decisions, const CostModel& costs)
      : facts_(facts),
        graph_(facts.graph()),
        pinned_(pinned),
        decisions_(decisions),
        costs_(costs),
        index_of_(graph_, kNone) {}

  PlaceProblem run() {
    CostProblem& problem = made_.problem;
    const DeviceIndices devices = facts_.devices().indices();
    problem.devices = devices.size();
    for (const DeviceIndex from : devices) {
      for (const DeviceIndex to : devices) problem.links.push_back(link(from, to));
    }
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (is_computed(graph_.node(id))) add_node(id);
    }
    for (NodeId id : graph_.outputs()) {
      if (const auto value = value_of(id)) problem.final_reads.push_back({*value, facts_.cpu()});
    }
    return std::move(made_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  /// Whether a device computes in a layout of its own.
  bool has_layout(int index) const {
    return std::ranges::any_of(facts_.device(index).memory().layouts(), [](const Layout& layout) {
      return layout.kind != LayoutKind::kPlain;
    });
  }

  /// Where nothing has to be copied, its layout may have to be changed, which is as much work.
  CostLink link(int from, int to) const {
    if (from == to) return {};
    const bool in_place = facts_.device(to).can_read(facts_.device(from).memory());
    if (in_place && !has_layout(from) && !has_layout(to)) return {};
    const TransferCost cost = costs_.transfer(facts_.info(from), facts_.info(to));
    return {cost.latency, cost.seconds_per_byte};
  }

  /// A weight or cache that goes where its users are.
  bool follows(NodeId owner) const {
    const Node& node = graph_.node(owner);
    return node.is_leaf() && node.role != Role::kInput && facts_.memory_of(owner) == nullptr &&
           pinned_.device[owner] == kNotPinned;
  }

  /// Whether it can, with the types of weights that stay where the rules placed them.
  bool finds_types(int index, NodeId id) const {
    if (!facts_.can(index, id)) return false;
    for (NodeId weight : facts_.weights_of(id)) {
      const bool goes_along = follows(weight) && facts_.users(weight).size() < 2;
      const int home = decisions_[weight].device;
      if (!goes_along && !facts_.answers().same_type(weight, index, home)) return false;
    }
    return true;
  }

  /// Whether a weight of the node would come to the device out of a lossy layout: not as it was
  /// written, and again in every step.
  bool restores_weights(int index, NodeId id) const {
    const auto restored = [&](NodeId weight) {
      const BufferType* const memory = facts_.memory_of(weight);
      return memory != nullptr && !facts_.device(index).can_read(*memory) &&
             std::ranges::any_of(memory->layouts(),
                                 [](const Layout& layout) { return !layout.exact; });
    };
    return std::ranges::any_of(facts_.weights_of(id), restored);
  }

  /// Whether a device can compute a node without streaming weights that should not be streamed.
  bool may(int index, NodeId id) const {
    if (!finds_types(index, id)) return false;
    if (index != decisions_[id].device && restores_weights(index, id)) return false;
    const bool free = facts_.streams() || index == facts_.cpu() || index == decisions_[id].device;
    return free || facts_.bytes_to_send(id, index) == 0;
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    CostNode cost;
    for (const DeviceIndex index : facts_.devices().indices()) {
      cost.seconds.push_back(
          may(index, id) ? costs_.seconds(facts_.answers().graph_on(index), id, facts_.info(index))
                         : kNever);
    }
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      if (const auto value = value_of(source)) cost.sources.push_back(*value);
    }
    cost.bytes = bytes(id);
    cost.pinned = hard_device(id);
    cost.group = group(id);
    index_of_[id] = static_cast<std::uint32_t>(made_.nodes.size());
    made_.nodes.push_back(id);
    made_.start.push_back(decisions_[id].device);
    made_.problem.nodes.push_back(std::move(cost));
  }

  std::size_t bytes(NodeId id) const { return bytes_of(graph_.node(id).result); }

  /// Of a leaf, to a device: of experts as many as can be in use.
  std::size_t bytes_sent(NodeId leaf) const {
    if (!is_weight(graph_.node(leaf).role)) return bytes(leaf);
    const Gathered gathered = gathered_of(graph_, leaf, facts_.users());
    return gathered ? gathered_bytes(graph_, leaf, gathered) : bytes(leaf);
  }

  int hard_device(NodeId id) const {
    if (pinned_.device[id] != kNotPinned) return pinned_.device[id];
    const Node& node = graph_.node(id);
    const bool stuck =
        node.writes_storage && graph_.node(node.storage).is_leaf() && !follows(node.storage);
    return stuck ? decisions_[id].device : -1;
  }

  /// Nodes that must share a device, named after the owner of the memory that they share.
  int group(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.writes_storage) return static_cast<int>(node.storage);
    if (!facts_.writers(id).empty()) return static_cast<int>(id);
    for (NodeId source : node.sources) {
      if (source == kNoNode) continue;
      const NodeId maker = maker_of(graph_, source);
      if (graph_.node(maker).is_leaf() && follows(maker) && facts_.users(maker).size() > 1 &&
          !facts_.writers(maker).empty()) {
        return static_cast<int>(maker);
      }
    }
    return -1;
  }

  /// Nothing where reading costs nothing, wherever the reader is.
  std::optional<CostValue> value_of(NodeId id) {
    const NodeId maker = maker_of(graph_, id);
    if (!graph_.node(maker).is_leaf()) return CostValue{false, index_of_[maker]};
    const bool alone = facts_.users(maker).size() < 2 || !facts_.writers(maker).empty();
    if (follows(maker) && alone) return std::nullopt;
    const auto [known, is_new] =
        external_of_.try_emplace(maker, static_cast<std::uint32_t>(made_.problem.externals.size()));
    if (is_new) {
      made_.problem.externals.push_back({decisions_[maker].device, bytes_sent(maker)});
      made_.externals.push_back(maker);
    }
    return CostValue{true, known->second};
  }

  const PlaceFacts& facts_;
  const Graph& graph_;
  const PinnedNodes& pinned_;
  const std::vector<Decision>& decisions_;
  const CostModel& costs_;
  PerNode<std::uint32_t> index_of_;
  std::map<NodeId, std::uint32_t> external_of_;  // by leaf
  PlaceProblem made_;
};

/// The times of nodes and copies, and the duration of the step.
void predict_times(const PlaceProblem& made, const Assignment& assignment, Placement& placement) {
  for (std::size_t i = 0; i < made.nodes.size(); ++i) {
    placement.decisions[made.nodes[i]].seconds =
        DeviceSpan<const double>(made.problem.nodes[i].seconds)[assignment[i]];
  }
  StepTimes times;
  placement.predicted_seconds = makespan(made.problem, assignment, &times);
  if (placement.predicted_seconds == kNever) return;
  for (std::size_t i = 0; i < made.nodes.size(); ++i)
    placement.decisions[made.nodes[i]].start = times.nodes[i].start;
  for (const StepTimes::Transfer& transfer : times.transfers) {
    if (transfer.end == transfer.start) continue;
    const auto& nodes = transfer.value.external ? made.externals : made.nodes;
    placement.predicted_copies.push_back(
        {nodes[transfer.value.index], transfer.from, transfer.to, transfer.start, transfer.end});
  }
}

std::string format_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} us", seconds * 1e6);
}

}  // namespace

PlaceProblem make_problem(const PlaceFacts& facts, const PinnedNodes& pinned,
                          const std::vector<Decision>& decisions, const CostModel& costs) {
  return ProblemMaker(facts, pinned, decisions, costs).run();
}

void predict_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                   Placement& placement) {
  const PlaceProblem made = make_problem(facts, pinned, placement.decisions, costs);
  predict_times(made, made.start, placement);
}

void place_by_costs(const PlaceFacts& facts, const PinnedNodes& pinned, const CostModel& costs,
                    OptimizeCache* searches, Placement& placement) {
  std::vector<Decision>& decisions = placement.decisions;
  const PlaceProblem made = make_problem(facts, pinned, decisions, costs);
  Optimized found{.assignment = made.start};
  if (facts.cpu() > 0) {
    found = searches == nullptr ? optimize(made.problem, made.start)
                                : searches->optimize(made.problem, made.start);
  }
  predict_times(made, found.assignment, placement);
  if (!(found.seconds < found.start_seconds)) return;

  const std::string reason =
      fmt::format("predicted step {} instead of {}", format_seconds(found.seconds),
                  format_seconds(found.start_seconds));
  for (std::size_t i = 0; i < made.nodes.size(); ++i) {
    Decision& decision = decisions[made.nodes[i]];
    const int device = found.assignment[i];
    if (decision.device == device) continue;
    decision.device = device;
    decision.rule = Rule::kCosts;
    decision.reason = reason;
  }
  place_followers(facts, decisions);
}

}  // namespace shunt
