#include "engine/load/fit_leaves.h"

#include <algorithm>

#include "graph/per_node.h"
#include "graph/storage_users.h"
#include "schedule/place/answers.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class LeafFinder {
 public:
  /// `wanted`, `answers`: the devices that nodes of the step would get, and those that support
  /// them, if no leaf had memory.
  LeafFinder(const ModelState& model, const FitRequest& request, const StepGraph& step,
             const Placement& wanted, const Answers& answers, const StorageUsers& users,
             bool endless)
      : model_(model),
        request_(request),
        step_(step),
        wanted_(wanted),
        answers_(answers),
        users_(users),
        endless_(endless) {}

  std::vector<FitLeaf> find() const {
    std::vector<FitLeaf> leaves;
    leaves.reserve(step_.weights.size() + step_.caches.size());
    for (const WeightLeaf& weight : step_.weights) leaves.push_back({weight.leaf, weight.info});
    for (std::size_t i = 0; i < step_.caches.size(); ++i)
      leaves.push_back({step_.caches[i], nullptr, i});
    std::sort(leaves.begin(), leaves.end(),
              [](const FitLeaf& a, const FitLeaf& b) { return a.id < b.id; });
    for (FitLeaf& leaf : leaves) {
      find_wish(leaf);
      find_types(leaf);
      for (const DeviceIndex d : leaf.by_device.indices()) {
        LeafOnDevice& here = leaf.by_device[d];
        const BufferType& memory =
            leaf.is_cache() ? model_.devices[d]->memory() : model_.memory_type(*leaf.info, d);
        here.bytes = memory.size_of(here.tensor);
        here.can = can_compute(leaf.id, d);
        here.too_large = !endless_ && here.bytes > memory.max_size();
      }
    }
    return leaves;
  }

 private:
  /// The user's decisions are kept. Those of rules depend on the room of devices.
  void find_wish(FitLeaf& leaf) const {
    const Decision& decision = wanted_.decisions[leaf.id];
    leaf.wanted = decision.device;
    leaf.fixed = decision.rule == Rule::kPinned;
    leaf.for_speed = decision.rule == Rule::kCosts || decision.rule == Rule::kSplit;
    if (!leaf.is_cache()) {
      if (request_.loaded == nullptr) return;
      const auto found = request_.loaded->find(leaf.info);
      if (found != request_.loaded->end()) leaf.there = found->second;
      return;
    }
    // A cache of another type may be split differently from the one that the request describes.
    const bool has_wish =
        request_.wanted_caches != nullptr && request_.wanted_caches->size() == step_.caches.size();
    if (has_wish && !leaf.fixed) {
      leaf.wanted = (*request_.wanted_caches)[leaf.cache];
      leaf.for_speed = true;
    }
    if (request_.caches != nullptr) {
      leaf.wanted = leaf.there = (*request_.caches)[leaf.cache];
      leaf.fixed = true;
    }
  }

  /// On the device of the model, the type that it has there already. Without loaded weights, the
  /// types that placement selects, or would select.
  void find_types(FitLeaf& leaf) const {
    LeafOnDevice as_in_graph;
    as_in_graph.tensor = step_.graph.node(leaf.id).result;
    leaf.by_device.assign(model_.devices.size(), as_in_graph);
    if (leaf.is_cache()) return;
    const WeightRecord& record = model_.weights.at(leaf.info);
    if (record.is_loaded() && !endless_) {
      if (record.transcoded) set_type(leaf, record.home, *record.transcoded);
      return;
    }
    for (const DeviceIndex d : model_.devices.accelerators()) {
      const Conversion* conversion = answers_.conversion(leaf.id, d);
      if (conversion != nullptr && d != leaf.wanted) convert(leaf, d, *conversion);
    }
    for (const Conversion& conversion : wanted_.conversions) {
      if (conversion.leaf == leaf.id) convert(leaf, conversion.device, conversion);
    }
  }

  void convert(FitLeaf& leaf, DeviceIndex device, const Conversion& conversion) const {
    const std::string name(model_.devices[device]->name());
    set_type(leaf, device, describe_conversion(step_.graph, conversion, name));
  }

  static void set_type(FitLeaf& leaf, DeviceIndex device, TranscodedWeight weight) {
    LeafOnDevice& here = leaf.by_device[device];
    // Rows are whole blocks of the type, or the device would not have asked for it.
    if (auto tensor = make_tensor(weight.to, leaf.info->tensor.shape)) here.tensor = *tensor;
    here.transcoded = std::move(weight);
  }

  bool can_compute(NodeId leaf, DeviceIndex device) const {
    // A user that is pinned elsewhere must find the type that it needs.
    const auto serves = [&](NodeId user) {
      const Decision& decision = wanted_.decisions[user];
      return answers_.of(user, device) &&
             (decision.rule != Rule::kPinned || answers_.same_type(leaf, decision.device, device));
    };
    const std::span<const NodeId> users = users_[leaf];
    return !users.empty() && std::all_of(users.begin(), users.end(), serves);
  }

  const ModelState& model_;
  const FitRequest& request_;
  const StepGraph& step_;
  const Placement& wanted_;
  const Answers& answers_;
  const StorageUsers& users_;
  bool endless_;
};

}  // namespace

std::vector<FitLeaf> find_leaves(const ModelState& model, const FitRequest& request,
                                 const StepGraph& step, const Placement& wanted, bool endless) {
  PlaceOptions options;
  options.transcode = model.placement.transcode;
  const StorageUsers users(step.graph);
  const Answers answers = Answers::ask(step.graph, model.devices, options, users);
  return LeafFinder(model, request, step, wanted, answers, users, endless).find();
}

std::vector<FitUnit> find_units(const StepGraph& step, std::span<const FitLeaf> leaves) {
  std::map<const gguf::TensorInfo*, std::int64_t> layers;
  for (const WeightLeaf& weight : step.weights) layers[weight.info] = weight.layer;
  std::vector<FitUnit> units;
  std::map<std::int64_t, std::size_t> unit_of;
  std::int64_t current = -1;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const std::int64_t layer = leaves[i].is_cache() ? current : layers[leaves[i].info];
    if (layer < 0 || !unit_of.contains(layer)) {
      units.push_back({layer, {}});
      if (layer >= 0) unit_of[layer] = units.size() - 1;
    }
    if (layer >= 0) current = layer;
    units[layer >= 0 ? unit_of[layer] : units.size() - 1].leaves.push_back(i);
  }
  return units;
}

Homes homes_of(std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes) {
  Homes result;
  for (const FitLeaf& leaf : leaves) {
    if (leaf.is_cache()) result.caches.push_back(kNoDevice);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_cache()) {
      result.caches[leaves[i].cache] = homes[i];
    } else {
      result.weights[leaves[i].info] = homes[i];
    }
  }
  return result;
}

Transcoded transcoded_at(std::span<const FitLeaf> leaves, std::span<const DeviceIndex> homes) {
  Transcoded weights;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto& transcoded = leaves[i].on(homes[i]).transcoded;
    if (transcoded) weights.emplace(leaves[i].info, *transcoded);
  }
  return weights;
}

}  // namespace shunt
