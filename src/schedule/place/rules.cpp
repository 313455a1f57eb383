#include "schedule/place/rules.h"

#include <algorithm>
#include <optional>

#include "graph/op.h"
#include "graph/storage_users.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class Rules {
 public:
  Rules(const PlaceFacts& facts, const PinnedNodes& pinned, std::int64_t stream_rows)
      : facts_(facts),
        graph_(facts.graph()),
        pinned_(pinned),
        stream_rows_(stream_rows),
        decisions_(graph_.size()) {}

  Result<std::vector<Decision>> run() {
    place_pinned();
    SHUNT_TRY(place_leaves());
    SHUNT_TRY(place_writers());
    place_beside_weights();
    place_beside_sources();
    place_beside_users();
    place_the_rest();
    place_higher();
    place_followers(facts_, decisions_);
    return std::move(decisions_);
  }

 private:
  int cpu() const { return facts_.cpu(); }
  const std::string& name(int index) const { return facts_.name(index); }
  bool placed(NodeId id) const { return decisions_[id].device >= 0; }
  bool is_free(NodeId id) const { return is_computed(graph_.node(id)) && !placed(id); }

  /// Whether a device can and may compute a node and all later writers of its memory, and whether
  /// weights that are placed already have the type that it requires.
  bool may(int index, NodeId id) const {
    const int pin = pinned_.device[id];
    if (!facts_.can_own(index, id) || (pin != kNotPinned && pin != index)) return false;
    for (NodeId weight : facts_.weights_of(id)) {
      if (placed(weight) && !facts_.answers().same_type(weight, index, decisions_[weight].device))
        return false;
    }
    return true;
  }

  void decide(NodeId id, int index, Rule rule, std::string reason) {
    Decision& decision = decisions_[id];
    decision.device = index;
    decision.rule = rule;
    decision.reason = std::move(reason);
  }

  /// Rule 1.
  void place_pinned() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (pinned_.device[id] == kNotPinned) continue;
      decide(id, pinned_.device[id], pinned_.rule[id], pinned_.reason[id]);
    }
  }

  /// The first device that may compute all users of this memory; the CPU if none other does.
  int first_that_may_all(std::span<const NodeId> users) const {
    for (const DeviceIndex index : facts_.accelerators()) {
      if (!users.empty() &&
          std::all_of(users.begin(), users.end(), [&](NodeId id) { return may(index, id); })) {
        return index;
      }
    }
    return cpu();
  }

  /// The device that computes where this memory is: its own, or one that reads it in place. Of
  /// several the last: the better ones come by rule 6.
  Result<int> device_at(NodeId leaf, const BufferType& type) const {
    for (int index = cpu(); index >= 0; --index) {
      if (&facts_.device(index).memory() == &type) return index;
    }
    for (int index = cpu(); index >= 0; --index) {
      if (facts_.device(index).can_read(type)) return index;
    }
    return invalid("{} is in {} memory, which no device can read", graph_.describe(leaf),
                   type.name());
  }

  /// Rule 2 for leaves that have memory, rule 4 for inputs; others are placed where their users can
  /// run.
  Status place_leaves() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!node.is_leaf() || placed(id)) continue;
      if (node.role == Role::kInput) {
        decide(id, cpu(), Rule::kInput, "inputs start in host memory");
      } else if (const BufferType* memory = facts_.memory_of(id)) {
        SHUNT_ASSIGN(const int index, device_at(id, *memory));
        decide(id, index, Rule::kMemory, fmt::format("it is in memory of {}", name(index)));
      } else {
        const int index = first_that_may_all(facts_.users(id));
        decide(id, index, Rule::kWeights,
               index == cpu() ? fmt::format("no better device computes all ops that use it")
                              : fmt::format("{} computes all ops that use it", name(index)));
      }
    }
    return ok();
  }

  /// Rule 2: an op that writes into existing memory runs on the device of that memory.
  Status place_writers() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (!node.writes_storage || placed(id)) continue;
      const Decision& owner = decisions_[node.storage];
      if (owner.device < 0) continue;  // memory of an activation: its owner comes first
      if (!facts_.can(owner.device, id)) {
        return invalid("{} must write into {} on {}, which can't: {}", graph_.describe(id),
                       graph_.describe(node.storage), name(owner.device),
                       facts_.answer(id, owner.device).facts());
      }
      decide(id, owner.device, Rule::kMemory,
             fmt::format("it writes into {}, which is on {}", graph_.describe(node.storage),
                         name(owner.device)));
    }
    return ok();
  }

  /// Rows that an op computes at once: its result in all dimensions but the first. Of experts'
  /// products the tokens, however many experts each of them uses.
  static double rows_of(const Node& node) {
    const auto& picks = node.op->info().picks;
    double rows = 1;
    for (int dim = picks ? picks->dim : 1; dim < kMaxDims; ++dim) {
      rows *= static_cast<double>(node.result.size(dim));
    }
    return rows;
  }

  /// A better device for which streaming a weight from host memory pays with the rows of the node.
  std::optional<int> streams_to(NodeId id, NodeId weight) const {
    if (!facts_.streams()) return std::nullopt;
    if (rows_of(graph_.node(id)) < static_cast<double>(stream_rows_)) return std::nullopt;
    const int home = decisions_[weight].device;
    const BufferType& memory = facts_.memory_if_on(weight, home);
    if (!memory.host_accessible()) return std::nullopt;
    for (int index = 0; index < home; ++index) {
      const Device& device = facts_.device(index);
      if (may(index, id) && !device.can_read(memory) && device.offload_op(graph_, id)) return index;
    }
    return std::nullopt;
  }

  /// Rule 3: an op with weights runs where its weights are, or they are sent where it runs.
  void place_beside_weights() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_free(id) || bound_to_owner(id)) continue;
      for (NodeId source : graph_.node(id).sources) {
        if (source == kNoNode) continue;
        const NodeId weight = graph_.node(source).storage;
        if (!is_weight(graph_.node(weight).role)) continue;
        if (const auto index = streams_to(id, weight)) {
          const auto rows = static_cast<std::uint64_t>(rows_of(graph_.node(id)));
          decide(id, *index, Rule::kWeights,
                 fmt::format("its weight {} is in host memory and is sent to {}, as {} {} at "
                             "least {}",
                             graph_.describe(weight), name(*index), counted(rows, "row"),
                             rows == 1 ? "is" : "are", stream_rows_));
          break;
        }
        const int index = decisions_[weight].device;
        if (!may(index, id)) continue;
        decide(id, index, Rule::kWeights,
               fmt::format("its weight {} is on {}", graph_.describe(weight), name(index)));
        break;
      }
    }
  }

  /// Where a neighbour is computed: itself, or the memory that it is a view of.
  NodeId place_of(NodeId neighbour) const {
    return is_computed(graph_.node(neighbour)) ? neighbour : graph_.node(neighbour).storage;
  }

  /// The accelerator of a neighbour that may compute the node.
  std::optional<int> joins(NodeId id, NodeId neighbour) const {
    const int index = decisions_[place_of(neighbour)].device;
    if (index < 0 || index == cpu() || !may(index, id)) return std::nullopt;
    return index;
  }

  /// A node that writes into an activation's memory belongs where that is computed, and the other
  /// way round; so only the owner is free to join its neighbours.
  bool bound_to_owner(NodeId id) const { return graph_.node(id).writes_storage; }

  /// Rule 5, downwards: of several sources the one that was computed last is the neighbour. A chain
  /// that came to the second accelerator stays there, although it reads an older value of the
  /// first.
  void place_beside_sources() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_free(id) || bound_to_owner(id)) continue;
      std::optional<NodeId> nearest;
      for (NodeId source : graph_.node(id).sources) {
        if (source == kNoNode || !joins(id, source)) continue;
        if (!nearest || place_of(source) > place_of(*nearest)) nearest = source;
      }
      if (!nearest) continue;
      const int index = *joins(id, *nearest);
      decide(id, index, Rule::kNeighbour, fmt::format("its source is computed on {}", name(index)));
    }
  }

  /// Rule 5, upwards: the first of the users.
  void place_beside_users() {
    for (NodeId id = static_cast<NodeId>(graph_.size()); id-- > 0;) {
      if (!is_free(id) || bound_to_owner(id)) continue;
      for (NodeId user : facts_.users(id)) {
        const auto index = joins(id, user);
        if (!index) continue;
        decide(id, *index, Rule::kNeighbour,
               fmt::format("its reader is computed on {}", name(*index)));
        break;
      }
    }
  }

  /// The number of a node's sources that a device reads in place.
  int readable(NodeId id, int index) const {
    int count = 0;
    for (NodeId source : graph_.node(id).sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_.node(source).storage;
      if (!placed(owner)) continue;
      count += facts_.device(index).can_read(facts_.memory_if_on(owner, decisions_[owner].device));
    }
    return count;
  }

  /// Rule 7.
  void place_the_rest() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_free(id)) continue;
      if (bound_to_owner(id)) {  // of an activation, placed where all its writers can run
        const NodeId owner = graph_.node(id).storage;
        decide(id, decisions_[owner].device, Rule::kMemory,
               fmt::format("it writes into {}", graph_.describe(owner)));
        continue;
      }
      int best = cpu();
      int most = -1;
      bool choice = false;
      for (const DeviceIndex index : facts_.devices().indices()) {
        if (!may(index, id)) continue;
        choice = choice || index != cpu();
        const int count = readable(id, index);
        if (count <= most) continue;
        best = index;
        most = count;
      }
      if (choice) {
        decide(
            id, best, Rule::kSources,
            fmt::format("{} reads {} of its sources in place, no device more", name(best), most));
      } else {
        decide(id, cpu(), Rule::kLastResort, "no other device can compute it");
      }
    }
  }

  bool reads_all(NodeId id, int index) const {
    const auto& sources = graph_.node(id).sources;
    const auto given = std::count_if(sources.begin(), sources.end(),
                                     [](NodeId source) { return source != kNoNode; });
    return readable(id, index) == given;
  }

  /// Rule 6. Nodes that write into shared memory stay.
  void place_higher() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id)) || pinned_.device[id] != kNotPinned) continue;
      if (bound_to_owner(id) || !facts_.writers(id).empty()) continue;
      const int now = decisions_[id].device;
      for (int index = 0; index < now; ++index) {
        if (&facts_.device(index).memory() != &facts_.device(now).memory()) continue;
        if (!may(index, id) || !reads_all(id, index)) continue;
        decide(id, index, Rule::kSharedMemory,
               fmt::format("{} comes before {} and uses the same memory", name(index), name(now)));
        break;
      }
    }
  }

  const PlaceFacts& facts_;
  const Graph& graph_;
  const PinnedNodes& pinned_;
  std::int64_t stream_rows_;
  std::vector<Decision> decisions_;
};

/// The device that computes all users of this memory; -1 if they are on several.
int device_of_all(std::span<const NodeId> users, const std::vector<Decision>& decisions) {
  if (users.empty()) return -1;
  const int first = decisions[users.front()].device;
  const bool all = std::all_of(users.begin(), users.end(),
                               [&](NodeId user) { return decisions[user].device == first; });
  return all ? first : -1;
}

}  // namespace

Result<std::vector<Decision>> place_by_rules(const PlaceFacts& facts, const PinnedNodes& pinned,
                                             std::int64_t stream_rows) {
  return Rules(facts, pinned, stream_rows).run();
}

void place_followers(const PlaceFacts& facts, std::vector<Decision>& decisions) {
  const Graph& graph = facts.graph();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_leaf() && node.role != Role::kInput && facts.memory_of(id) == nullptr &&
        decisions[id].rule != Rule::kPinned && decisions[id].rule != Rule::kSplit) {
      const int index = device_of_all(facts.users(id), decisions);
      if (index < 0 || index == decisions[id].device) continue;
      decisions[id].device = index;
      decisions[id].rule = Rule::kWeights;
      decisions[id].reason = fmt::format("{} computes all ops that use it", facts.name(index));
    } else if (!node.is_leaf() && !is_computed(node)) {
      decisions[id].device = decisions[node.storage].device;
      decisions[id].rule = Rule::kView;
      decisions[id].reason = fmt::format("a view of {}", graph.describe(node.storage));
    }
  }
}

}  // namespace shunt
