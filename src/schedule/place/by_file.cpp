// A placement that follows a file exactly, or an error that names the line that can't be followed.
#include "graph/storage_users.h"
#include "schedule/place/answers.h"
#include "schedule/place/by_costs.h"
#include "schedule/place/facts.h"
#include "schedule/place/pins.h"
#include "schedule/place/placement_words.h"
#include "shunt/explain.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class Follower {
 public:
  Follower(const PlacementFile& file, const Graph& graph, std::span<Device* const> devices,
           const PlaceOptions& options)
      : file_(file),
        graph_(graph),
        answers_(Answers::ask(graph, devices, options, StorageUsers(graph))),
        devices_(devices),
        lines_(graph, nullptr) {
    placement_.devices = devices_;
    placement_.decisions.resize(graph.size());
    for (Device* device : devices) names_.emplace_back(device->name());
  }

  Result<Placement> follow(std::span<const LeafMemory> memory) {
    if (!devices_.has_cpu()) {
      return invalid("a placement needs a CPU as its last device");
    }
    for (const PlacementLine& line : file_.lines) SHUNT_TRY(take(line));
    for (NodeId id = 0; id < graph_.size(); ++id) SHUNT_TRY(decide(id));
    for (const LeafMemory& leaf : memory) SHUNT_TRY(check_memory(leaf));
    placement_.conversions = find_conversions(answers_, graph_, placement_.decisions);
    return std::move(placement_);
  }

 private:
  const std::string& name(DeviceIndex device) const { return names_[device]; }
  bool is_view(NodeId id) const {
    return !graph_.node(id).is_leaf() && !is_computed(graph_.node(id));
  }

  template <class... Args>
  Error bad(const PlacementLine& line, fmt::format_string<Args...> format, Args&&... args) const {
    return fail(ErrorCode::kBadFile, "{}:{}: {}", file_.path, line.line,
                fmt::format(format, std::forward<Args>(args)...));
  }

  /// Matches a line with the node it is about.
  Status take(const PlacementLine& line) {
    if (line.node >= graph_.size()) {
      return bad(line, "there is no node {}: the graph has {}", line.node, graph_.size());
    }
    const Node& node = graph_.node(line.node);
    if (line.name != node.name || line.op != op_word(node)) {
      return bad(line,
                 "node {} is {} {} here, not {} {}: the file was written for another model, or by "
                 "another version",
                 line.node, op_word(node), quote_word(node.name), quote_word(line.op),
                 quote_word(line.name));
    }
    if (lines_[line.node] != nullptr) {
      return bad(line, "node {} is in line {} already", line.node, lines_[line.node]->line);
    }
    lines_[line.node] = &line;
    return ok();
  }

  Result<DeviceIndex> device_of(const PlacementLine& line) const {
    std::string known;
    for (const DeviceIndex i : names_.indices()) {
      if (names_[i] == line.device) return i;
      known += (i == 0 ? "" : ", ") + names_[i];
    }
    return bad(line, "there is no device {} here; there are {}", quote_word(line.device), known);
  }

  Status decide(NodeId id) {
    const Node& node = graph_.node(id);
    const PlacementLine* line = lines_[id];
    Decision& decision = placement_.decisions[id];
    if (line == nullptr) {
      return fail(ErrorCode::kBadFile, "{}: there is no line for node {}, {}", file_.path, id,
                  graph_.describe(id));
    }
    if (is_view(id)) {
      // Its owner comes before it.
      decision.device = placement_.decisions[node.storage].device;
      decision.rule = Rule::kView;
      decision.reason = fmt::format("a view of {}", graph_.describe(node.storage));
      if (line->device == "=" || line->device == name(decision.device)) return ok();
      return bad(*line, "{} is a view of {}, which is on {}", graph_.describe(id),
                 graph_.describe(node.storage), name(decision.device));
    }
    SHUNT_ASSIGN(decision.device, device_of(*line));
    decision.rule = node.role == Role::kInput ? Rule::kInput : Rule::kPinned;
    decision.reason = fmt::format("set by {}:{}", file_.path, line->line);
    const DeviceIndex cpu = devices_.cpu();
    if (node.role == Role::kInput && decision.device != cpu) {
      return bad(*line, "{} is an input, which starts on {}", graph_.describe(id), name(cpu));
    }
    return node.is_leaf() ? ok() : check_device(id, *line);
  }

  Status check_device(NodeId id, const PlacementLine& line) {
    const Node& node = graph_.node(id);
    Decision& decision = placement_.decisions[id];
    if (node.writes_storage && placement_.decisions[node.storage].device != decision.device) {
      return bad(line, "{} writes into {}, so it must be on {}, too", graph_.describe(id),
                 graph_.describe(node.storage), name(placement_.decisions[node.storage].device));
    }
    const Support& answer = answers_.of(id, decision.device);
    if (!answer) {
      const std::string_view remedy = answers_.remedy(id, decision.device);
      return bad(line, "{} can't compute {}: {}{}", name(decision.device), graph_.describe(id),
                 answer.facts(), remedy.empty() ? "" : fmt::format(" (see {})", remedy));
    }
    SHUNT_TRY(check_weights(id, line));
    note_rejected(id);
    return ok();
  }

  /// A node finds its weights in the type that it needs, if they are on its own device, or on
  /// another one in the same type.
  Status check_weights(NodeId id, const PlacementLine& line) const {
    const int device = placement_.decisions[id].device;
    for (NodeId source : graph_.node(id).sources) {
      if (source == kNoNode) continue;
      const NodeId owner = graph_.node(source).storage;
      const int home = placement_.decisions[owner].device;
      if (answers_.same_type(owner, device, home)) continue;
      const auto type_on = [&](DeviceIndex at) {
        return to_string(answers_.graph_on(at).node(owner).result.dtype);
      };
      return bad(line, "{} needs {} as {} on {}, but on {} it is {}", graph_.describe(id),
                 graph_.describe(owner), type_on(device), name(device), name(home), type_on(home));
    }
    return ok();
  }

  void note_rejected(NodeId id) {
    Decision& decision = placement_.decisions[id];
    for (int better = 0; better < decision.device; ++better) {
      const Support& answer = answers_.of(id, better);
      if (answer) {
        decision.rejected.push_back(
            {better, Refusal::kCost, "supported, but the file places it elsewhere"});
      } else {
        decision.rejected.push_back(
            {better, answer.refusal(), answer.facts(), std::string(answers_.remedy(id, better))});
      }
    }
  }

  /// A leaf that has memory already must be on the device that the file names.
  Status check_memory(const LeafMemory& leaf) const {
    if (!leaf.address || lines_[leaf.leaf] == nullptr) return ok();
    const int at = placement_.decisions[leaf.leaf].device;
    const BufferType& type = leaf.address.buffer->type();
    if (devices_[at]->can_read(type)) return ok();
    return bad(*lines_[leaf.leaf], "{} is in {} memory, which {} does not read",
               graph_.describe(leaf.leaf), type.name(), name(at));
  }

  const PlacementFile& file_;
  const Graph& graph_;
  Answers answers_;
  DeviceSet devices_;
  PerDevice<std::string> names_;
  PerNode<const PlacementLine*> lines_;
  Placement placement_;
};

}  // namespace

Result<Placement> place_by_file(const PlacementFile& file, const Graph& graph,
                                std::span<Device* const> devices,
                                std::span<const LeafMemory> memory, const CostModel* costs,
                                Transcode transcode) {
  PlaceOptions options;
  SHUNT_TRY(check_memory(graph, memory));
  options.memory = memory;
  options.transcode = transcode;
  SHUNT_ASSIGN(Placement placement, Follower(file, graph, devices, options).follow(memory));
  if (costs != nullptr) {
    SHUNT_ASSIGN(const PlaceFacts facts, PlaceFacts::create(graph, devices, options));
    SHUNT_ASSIGN(const PinnedNodes pinned, pin_nodes(facts, {}));
    predict_costs(facts, pinned, *costs, placement);
  }
  return placement;
}

}  // namespace shunt
