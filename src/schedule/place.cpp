// Placement: rules in order, each decision with a reason that names the rule.
#include <algorithm>
#include <array>
#include <optional>

#include "base/fail.h"
#include "graph/op.h"
#include "schedule/storage_users.h"
#include "shunt/plan.h"

namespace shunt {

std::string_view to_string(Rule rule) {
  static constexpr std::array<std::string_view, 6> kNames = {"memory", "weights",   "input",
                                                             "view",   "neighbour", "last resort"};
  const auto index = static_cast<std::size_t>(rule);
  return index < kNames.size() ? kNames[index] : "unknown";
}

namespace {

bool is_weight(Role role) {
  return role == Role::kWeight || role == Role::kExpertWeight;
}

class Placer {
 public:
  Placer(const Graph& graph, std::span<Device* const> devices, std::span<const LeafMemory> memory)
      : graph_(graph), users_(storage_users(graph)), addresses_(graph.size()) {
    placement_.devices.assign(devices.begin(), devices.end());
    placement_.decisions.resize(graph.size());
    for (const LeafMemory& leaf : memory) {
      if (leaf.leaf < graph.size()) addresses_[leaf.leaf] = leaf.address;
    }
    for (Device* device : devices) names_.push_back(device->info().name);
  }

  Result<Placement> place() {
    if (placement_.devices.empty() || placement_.devices.back()->info().kind != DeviceKind::kCpu) {
      return invalid("a placement needs a CPU as its last device");
    }
    SHUNT_TRY(ask_devices());
    SHUNT_TRY(place_leaves());
    SHUNT_TRY(place_writers());
    place_beside_weights();
    place_beside_sources();
    place_beside_users();
    place_the_rest();
    place_views();
    note_who_was_passed_over();
    return std::move(placement_);
  }

 private:
  int cpu() const { return static_cast<int>(placement_.devices.size()) - 1; }
  Device& device(int index) { return *placement_.devices[static_cast<std::size_t>(index)]; }
  const std::string& name(int index) const { return names_[static_cast<std::size_t>(index)]; }
  bool placed(NodeId id) const { return placement_.decisions[id].device >= 0; }
  bool can(int index, NodeId id) const {
    return static_cast<bool>(answers_[id][static_cast<std::size_t>(index)]);
  }
  /// Whether a device can compute a node and all that later writes into the same memory.
  bool can_own(int index, NodeId id) const {
    return can(index, id) && std::all_of(writers_[id].begin(), writers_[id].end(),
                                         [&](NodeId writer) { return can(index, writer); });
  }

  void decide(NodeId id, int index, Rule rule, std::string reason) {
    Decision& decision = placement_.decisions[id];
    decision.device = index;
    decision.rule = rule;
    decision.reason = std::move(reason);
  }

  /// Asks every device about every computed node, once.
  Status ask_devices() {
    answers_.resize(graph_.size());
    writers_.resize(graph_.size());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id))) continue;
      for (Device* each : placement_.devices) answers_[id].push_back(each->supports(graph_, id));
      if (graph_.node(id).writes_storage) writers_[graph_.node(id).storage].push_back(id);
      if (!can(cpu(), id)) {
        return fail(ErrorCode::kUnsupported, "{}: {} can't compute it: {}", graph_.describe(id),
                    name(cpu()), answers_[id].back().facts());
      }
    }
    return ok();
  }

  /// The first device that can compute all users of this memory; the CPU if none other does.
  int first_that_can_all(const std::vector<NodeId>& users) const {
    for (int index = 0; index < cpu(); ++index) {
      if (!users.empty() &&
          std::all_of(users.begin(), users.end(), [&](NodeId id) { return can(index, id); })) {
        return index;
      }
    }
    return cpu();
  }

  /// The device that computes where this memory is: its own, or one that reads it where it lies.
  Result<int> device_at(NodeId leaf, const BufferType& type) {
    for (int index = 0; index <= cpu(); ++index) {
      if (&device(index).memory() == &type) return index;
    }
    for (int index = cpu(); index >= 0; --index) {
      if (device(index).can_read(type)) return index;
    }
    return invalid("{} lies in {} memory, which none of the devices reads", graph_.describe(leaf),
                   type.name());
  }

  Status place_leaves() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!node.is_leaf()) continue;
      if (node.role == Role::kInput) {
        decide(id, cpu(), Rule::kInput, "inputs start in host memory");
      } else if (addresses_[id]) {
        SHUNT_ASSIGN(const int index, device_at(id, addresses_[id].buffer->type()));
        decide(id, index, Rule::kMemory, fmt::format("it lies in memory of {}", name(index)));
      } else {
        const int index = first_that_can_all(users_[id]);
        decide(id, index, Rule::kWeights,
               index == cpu() ? fmt::format("no better device computes all that uses it")
                              : fmt::format("{} computes all that uses it", name(index)));
      }
    }
    return ok();
  }

  /// Rule 2: an op that writes into memory runs where that memory is.
  Status place_writers() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!node.writes_storage) continue;
      const Decision& owner = placement_.decisions[node.storage];
      if (owner.device < 0) continue;  // memory of an activation: it follows below
      if (!can(owner.device, id)) {
        return invalid("{} must write into {} on {}, which can't: {}", graph_.describe(id),
                       graph_.describe(node.storage), name(owner.device),
                       answers_[id][static_cast<std::size_t>(owner.device)].facts());
      }
      decide(id, owner.device, Rule::kMemory,
             fmt::format("it writes into {}, which is on {}", graph_.describe(node.storage),
                         name(owner.device)));
    }
    return ok();
  }

  /// Rule 3: an op with weights runs where its weights are.
  void place_beside_weights() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id)) || placed(id)) continue;
      for (NodeId source : graph_.node(id).sources) {
        if (source == kNoNode) continue;
        const NodeId owner = graph_.node(source).storage;
        if (!is_weight(graph_.node(owner).role)) continue;
        const int index = placement_.decisions[owner].device;
        if (!can_own(index, id)) continue;
        decide(id, index, Rule::kWeights,
               fmt::format("its weight {} is on {}", graph_.describe(owner), name(index)));
        break;
      }
    }
  }

  /// An accelerator among `neighbours` that can compute the node, of the highest priority.
  std::optional<int> best_neighbour(NodeId id, std::span<const NodeId> neighbours) const {
    std::optional<int> best;
    for (NodeId neighbour : neighbours) {
      if (neighbour == kNoNode) continue;
      // A source that is a view is where its memory is.
      const NodeId owner =
          is_computed(graph_.node(neighbour)) ? neighbour : graph_.node(neighbour).storage;
      const int index = placement_.decisions[owner].device;
      if (index < 0 || index == cpu() || !can_own(index, id)) continue;
      if (!best || index < *best) best = index;
    }
    return best;
  }

  /// A node that writes into an activation's memory belongs where that is computed, and the other
  /// way round; so only the owner is free to join its neighbours.
  bool bound_to_owner(NodeId id) const { return graph_.node(id).writes_storage; }

  void place_beside_sources() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id)) || placed(id) || bound_to_owner(id)) continue;
      if (const auto index = best_neighbour(id, graph_.node(id).sources)) {
        decide(id, *index, Rule::kNeighbour,
               fmt::format("what it reads is computed on {}", name(*index)));
      }
    }
  }

  void place_beside_users() {
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;) {
      if (!is_computed(graph_.node(id)) || placed(id) || bound_to_owner(id)) continue;
      if (const auto index = best_neighbour(id, users_[id])) {
        decide(id, *index, Rule::kNeighbour,
               fmt::format("what reads it is computed on {}", name(*index)));
      }
    }
  }

  void place_the_rest() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!is_computed(node) || placed(id)) continue;
      if (bound_to_owner(
              id)) {  // its memory belongs to an activation, placed where all its writers can run
        decide(id, placement_.decisions[node.storage].device, Rule::kMemory,
               fmt::format("it writes into {}", graph_.describe(node.storage)));
        continue;
      }
      decide(id, cpu(), Rule::kLastResort, "the CPU takes what no other device can or wants to");
    }
  }

  void place_views() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_leaf() || is_computed(node)) continue;
      const int index = placement_.decisions[node.storage].device;
      decide(id, index, Rule::kView, fmt::format("a view of {}", graph_.describe(node.storage)));
    }
  }

  void note_who_was_passed_over() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id))) continue;
      Decision& decision = placement_.decisions[id];
      for (int index = 0; index < decision.device; ++index) {
        const Support& answer = answers_[id][static_cast<std::size_t>(index)];
        if (answer) {
          decision.passed_over.push_back(
              {index, Refusal::kCost, "it could; its data are elsewhere"});
        } else if (answer.refused()) {
          decision.passed_over.push_back({index, answer.refusal(), answer.facts()});
        } else {
          decision.passed_over.push_back(
              {index, Refusal::kType,
               fmt::format("needs source {} as {}", answer.converted_source(),
                           to_string(answer.converted_dtype()))});
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<Address> addresses_;
  std::vector<std::string> names_;
  std::vector<std::vector<Support>> answers_;  // by node, by device
  std::vector<std::vector<NodeId>> writers_;   // by owner of memory: who writes into it
  Placement placement_;
};

}  // namespace

Result<Placement> place(const Graph& graph, std::span<Device* const> devices,
                        std::span<const LeafMemory> memory) {
  return Placer(graph, devices, memory).place();
}

}  // namespace shunt
