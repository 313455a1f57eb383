#include "schedule/place/answers.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>

#include "base/enum_table.h"
#include "base/indexed_vector.h"
#include "graph/op.h"
#include "graph/storage_users.h"
#include "shunt/message.h"

namespace shunt {

std::string_view to_string(Transcode transcode) {
  static constexpr std::array<std::string_view, 3> kNames = {"never", "precise", "lossy"};
  return name_in(kNames, transcode);
}

std::string to_text(const Conversion& conversion) {
  return fmt::format(", as {} instead of {} ({})", to_string(conversion.to),
                     to_string(conversion.from), conversion.reason);
}

namespace {

bool is_conditional(const Support& answer) {
  return !answer.refused() && !answer;
}

}  // namespace

/// Asks one device. Weights it asks for in another type get it, and it is asked again. Where it, or
/// the CPU, then refuses a node that was possible before, they stay as they are. A weight is given
/// another type once at most, and taken it back once at most, so this ends with any answers of a
/// device.
class Asker {
 public:
  Asker(const Graph& graph, Device& device, DeviceIndex index, Device& cpu,
        const PlaceOptions& options, const StorageUsers& users)
      : graph_(graph),
        typed_(&graph),
        device_(device),
        index_(index),
        name_(device.name()),
        cpu_(cpu),
        policy_(options.transcode),
        users_(users) {
    for (const LeafMemory& leaf : options.memory) {
      if (!leaf.address) continue;
      has_memory_.insert(leaf.leaf);
      const BufferType& type = leaf.address.buffer->type();
      if (!device.can_read(type)) continue;  // it comes as a plain copy
      memory_.resize(graph.size(), nullptr);
      memory_[leaf.leaf] = &type;
    }
  }

  Answers::OnDevice run() {
    made_.answers.assign(graph_.size(), Support::yes());
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (is_computed(graph_.node(id))) made_.answers[id] = ask_about(graph_, id);
    }
    first_ = made_.answers;
    while (convert_what_is_asked_for() || take_back_what_is_refused()) ask_again();
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (is_conditional(made_.answers[id])) refuse(id);
    }
    return std::move(made_);
  }

 private:
  /// The reason for a refusal.
  struct No {
    std::string why;
    Refusal refusal = Refusal::kType;
    std::string remedy = {};
  };
  using MaybeNo = std::optional<No>;
  static constexpr const char* kPassedOn = "an operation would give that type to its result";

  const Support& answer(NodeId id) const { return made_.answers[id]; }
  Support ask_about(const Graph& graph, NodeId id) const {
    return device_.supports(graph, id, memory_);
  }

  /// The number of the source that a conditional answer is about.
  int asked_number(NodeId id) const { return answer(id).converted_source(); }
  /// The source; kNoNode if there is none.
  NodeId asked_source(NodeId id) const {
    const IndexedSpan<int, const NodeId> sources(graph_.node(id).sources);
    const int source = asked_number(id);
    return source >= 0 && source < std::ssize(sources) ? sources[source] : kNoNode;
  }
  /// "w": the op's name for it.
  std::string source_name(NodeId id) const {
    const IndexedSpan<int, const std::string_view> names(graph_.node(id).op->info().sources);
    const int source = asked_number(id);
    if (source < 0 || source >= std::ssize(names)) return fmt::format("source {}", source);
    std::string_view name = names[source];
    if (name.ends_with('?')) name.remove_suffix(1);
    return std::string(name);
  }
  NodeId asked_weight(NodeId id) const {
    const NodeId source = asked_source(id);
    if (source == kNoNode) return kNoNode;
    const NodeId owner = graph_.node(source).storage;
    return is_weight(graph_.node(owner).role) ? owner : kNoNode;
  }

  /// The reason why a weight may not get the type that a node needs.
  MaybeNo forbidden(NodeId id) const {
    const NodeId weight = asked_weight(id);
    if (weight == kNoNode) return No{"only weights are transcoded"};
    if (&device_ == &cpu_ || &device_.memory() == &host_memory()) {
      return No{"weights in host memory keep the file's type"};
    }
    const DType from = graph_.node(weight).result.dtype;
    const DType to = answer(id).converted_dtype();
    if (trait(to).integer || trait(from).integer) return No{"integers are not transcoded"};
    if (trait(to).encode == nullptr || trait(from).decode == nullptr) {
      return No{fmt::format("{} can't be encoded", to_string(to))};
    }
    const bool precise = at_least_as_precise(to, from);
    if (policy_ == Transcode::kNone) {
      return No{"transcoding is off", Refusal::kType,
                precise ? "--transcode precise" : "--transcode lossy"};
    }
    if (!precise && policy_ != Transcode::kLossy) {
      return No{"that type is less precise", Refusal::kType, "--transcode lossy"};
    }
    if (has_memory_.contains(weight)) return No{"the weight is in memory already", Refusal::kCost};
    if (const auto known = kept_.find(weight); known != kept_.end()) return No{known->second};
    return std::nullopt;
  }

  /// The reason why a weight can't have a type, checked with its direct readers.
  std::optional<std::string> impossible(NodeId weight, DType dtype) const {
    const Tensor& now = graph_.node(weight).result;
    if (!is_contiguous(now)) return fmt::format("{} is not contiguous", to_string(now));
    const auto tensor = make_tensor(dtype, now.shape);
    if (!tensor) return tensor.error().message();
    for (NodeId user : users_[weight]) {
      const Node& node = graph_.node(user);
      std::vector<const Tensor*> sources;
      sources.reserve(node.sources.size());
      for (NodeId source : node.sources) {
        sources.push_back(source == kNoNode  ? nullptr
                          : source == weight ? &*tensor
                                             : &typed_->node(source).result);
      }
      const auto inferred = node.op->infer(sources, node.params);
      if (!inferred) {
        return fmt::format("{} does not accept that type: {}", node.op->info().name,
                           inferred.error().message());
      }
      if (inferred->tensor.dtype != node.result.dtype) return kPassedOn;
    }
    return std::nullopt;
  }

  void keep(NodeId weight, std::string why) {
    made_.conversions.erase(weight);
    touched_.insert(weight);
    kept_.emplace(weight, std::move(why));
  }

  /// Whether any weight's type is another one now.
  bool convert_what_is_asked_for() {
    std::map<NodeId, Conversion> wishes;
    bool changed = false;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_conditional(answer(id)) || forbidden(id)) continue;
      const NodeId weight = asked_weight(id);
      const DType from = graph_.node(weight).result.dtype;
      const DType to = answer(id).converted_dtype();
      const std::string_view op = graph_.node(id).op->info().name;
      const auto already = made_.conversions.find(weight);
      if (already != made_.conversions.end() || from == to) {
        keep(weight, fmt::format("with {} it asks for another type",
                                 to_string(from == to ? from : already->second.to)));
        wishes.erase(weight);
        changed = true;
        continue;
      }
      const auto [wish, is_new] = wishes.try_emplace(
          weight, Conversion{weight, from, to, index_,
                             fmt::format("{} supports {} of {} only in this type", name_,
                                         source_name(id), op)});
      if (is_new || wish->second.to == to) continue;
      keep(weight, fmt::format("other ops on this device need the weight as {}", to_string(to)));
      wishes.erase(weight);
      changed = true;
    }
    for (auto& [weight, wish] : wishes) {
      changed = true;
      if (auto why = impossible(weight, wish.to)) {
        keep(weight, std::move(*why));
      } else {
        made_.conversions.emplace(weight, std::move(wish));
        touched_.insert(weight);
      }
    }
    return changed;
  }

  /// Weights whose new type is refused by a device that took the old one.
  bool take_back_what_is_refused() {
    std::map<NodeId, std::string> refused;
    for (const auto& [weight, conversion] : made_.conversions) {
      for (NodeId user : users_[weight]) {
        const std::string_view op = graph_.node(user).op->info().name;
        if (!first_[user].refused() && answer(user).refused()) {
          refused[weight] =
              fmt::format("with that type it refuses {}: {}", op, answer(user).facts());
        } else if (!cpu_.supports(*typed_, user)) {
          refused[weight] = fmt::format("the CPU can't compute {} with that type", op);
        }
      }
    }
    for (auto& [weight, why] : refused) keep(weight, std::move(why));
    return !refused.empty();
  }

  void ask_again() {
    make_graph();
    for (NodeId weight : touched_) {
      for (NodeId user : users_[weight]) made_.answers[user] = ask_about(*typed_, user);
    }
  }

  void make_graph() {
    typed_ = &graph_;
    made_.graph.reset();
    if (made_.conversions.empty()) return;
    std::vector<LeafType> types;
    types.reserve(made_.conversions.size());
    for (const auto& [weight, conversion] : made_.conversions)
      types.push_back({weight, conversion.to});
    auto typed = with_types(graph_, types);
    const bool passed_on = typed && any_result_changed(*typed);
    if (!typed || passed_on) {  // a reader behind views or other nodes: which one is unknown
      for (const LeafType& type : types)
        keep(type.leaf, passed_on ? kPassedOn : typed.error().message());
      return;
    }
    made_.graph = std::make_unique<const Graph>(std::move(*typed));
    typed_ = made_.graph.get();
  }

  bool any_result_changed(const Graph& typed) const {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!is_computed(graph_.node(id))) continue;
      if (typed.node(id).result.dtype != graph_.node(id).result.dtype) return true;
    }
    return false;
  }

  /// A conditional answer whose condition can't be met is a no.
  void refuse(NodeId id) {
    const NodeId source = asked_source(id);
    const MaybeNo no = forbidden(id);
    const std::string now =
        source == kNoNode
            ? std::string()
            : fmt::format(" instead of {}", to_string(graph_.node(source).result.dtype));
    const std::string why = no ? no->why : "it repeats this for each type";
    if (no && !no->remedy.empty()) made_.remedies[id] = no->remedy;
    made_.answers[id] = Support::no(no ? no->refusal : Refusal::kType,
                                    fmt::format("{} needs {} as {}{}; {}", name_, source_name(id),
                                                to_string(answer(id).converted_dtype()), now, why));
  }

  const Graph& graph_;
  const Graph* typed_;
  Device& device_;
  DeviceIndex index_;
  std::string name_;
  Device& cpu_;
  Transcode policy_;
  const StorageUsers& users_;  // by owner of memory
  std::set<NodeId> has_memory_;
  std::vector<const BufferType*> memory_;  // of leaves, as Device::supports() takes it
  PerNode<Support> first_;                 // about the graph as it is
  std::map<NodeId, std::string> kept_;     // weights that keep their type, and why
  std::set<NodeId> touched_;               // weights that have another type, or had
  Answers::OnDevice made_;
};

Status check_memory(const Graph& graph, std::span<const LeafMemory> memory) {
  for (const LeafMemory& leaf : memory) {
    if (leaf.leaf < graph.size() && graph.node(leaf.leaf).is_leaf()) continue;
    return invalid("memory is given for {}, which is not a leaf", graph.describe(leaf.leaf));
  }
  return ok();
}

Answers Answers::ask(const Graph& graph, std::span<Device* const> devices,
                     const PlaceOptions& options, const StorageUsers& users) {
  Answers answers;
  answers.graph_ = &graph;
  const DeviceSet all(devices);
  for (const DeviceIndex device : all.indices()) {
    answers.devices_.push_back(
        Asker(graph, *all[device], device, all.cpu_device(), options, users).run());
  }
  return answers;
}

std::string_view Answers::remedy(NodeId id, DeviceIndex device) const {
  const auto found = on(device).remedies.find(id);
  return found == on(device).remedies.end() ? std::string_view() : found->second;
}

const Graph& Answers::graph_on(DeviceIndex device) const {
  return on(device).graph != nullptr ? *on(device).graph : *graph_;
}

const Conversion* Answers::conversion(NodeId leaf, DeviceIndex device) const {
  const auto found = on(device).conversions.find(leaf);
  return found == on(device).conversions.end() ? nullptr : &found->second;
}

bool Answers::same_type(NodeId leaf, DeviceIndex device, DeviceIndex home) const {
  if (device == home || devices_.is_cpu(device)) return true;
  return graph_on(device).node(leaf).result.dtype == graph_on(home).node(leaf).result.dtype;
}

std::vector<Conversion> find_conversions(const Answers& answers, const Graph& graph,
                                         std::vector<Decision>& decisions) {
  const DeviceIndex cpu = answers.indices().cpu();
  const StorageUsers users(graph);
  std::vector<Conversion> conversions;
  for (NodeId id = 0; id < decisions.size(); ++id) {
    const Conversion* conversion = answers.conversion(id, decisions[id].device);
    if (conversion == nullptr) continue;
    if (std::all_of(users[id].begin(), users[id].end(),
                    [&](NodeId user) { return decisions[user].device == cpu; })) {
      continue;
    }
    conversions.push_back(*conversion);
    decisions[id].reason += to_text(*conversion);
  }
  return conversions;
}

}  // namespace shunt
