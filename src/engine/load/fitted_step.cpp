#include "engine/load/fitted_step.h"

#include <algorithm>
#include <optional>

#include "engine/load/memory_pool.h"
#include "engine/load/promised_memory.h"
#include "graph/storage_users.h"
#include "schedule/explain/fallback.h"
#include "schedule/place/facts.h"
#include "shunt/explain.h"
#include "shunt/message.h"

namespace shunt {

namespace {

/// Makes a placement over some of the devices one over all of them.
void count_all_devices(const ModelState& model, Placement& placement) {
  PerDevice<DeviceIndex> index;
  for (const Device* device : placement.devices) index.push_back(model.devices.find(device));
  const auto renumber = [&](DeviceIndex& device) { device = index[device]; };
  for (Decision& decision : placement.decisions) {
    renumber(decision.device);
    for (RejectedCandidate& passed : decision.rejected) renumber(passed.device);
  }
  for (Conversion& conversion : placement.conversions) renumber(conversion.device);
  for (PredictedCopy& copy : placement.predicted_copies) {
    renumber(copy.from);
    renumber(copy.to);
  }
  placement.devices = model.devices;
}

/// Weights that come in another type than the file's, as leaves of this step.
void list_conversions(const StepGraph& step, const Fit& fit, Placement& placement) {
  for (const WeightLeaf& weight : step.weights) {
    const auto found = fit.transcoded.find(weight.info);
    if (found == fit.transcoded.end()) continue;
    const TranscodedWeight& other = found->second;
    placement.conversions.push_back(
        {weight.leaf, other.from, other.to, placement.decisions[weight.leaf].device, other.reason});
  }
}

Result<FittedStep> place_at_home(const ModelState& model, const StepShape& shape, const Fit& fit) {
  FittedStep placed;
  SHUNT_ASSIGN(placed.step, model.build(shape, fit.transcoded));
  PromisedMemory promised;
  SHUNT_ASSIGN(placed.placement,
               model.place_step(placed.step, promised.promise(model, *placed.step, fit.homes),
                                fit.devices, fit.stream_bytes));
  count_all_devices(model, placed.placement);
  list_conversions(*placed.step, fit, placed.placement);
  return placed;
}

/// The placement with unlimited memory, and the bytes that it would need, by device.
struct Endless {
  Placement placement;
  PerDevice<std::uint64_t> needed;
  PerDevice<DeviceLimit> limits;  ///< of that, with the weights that are loaded already
};

/// Reasons of a fitted placement from before the fit: those of the rules, while leaves could be on
/// any device, or a lack of memory.
class Explainer {
 public:
  /// `endless`: null if there was room for all.
  Explainer(const ModelState& model, const Placement& by_rules, const Endless* endless,
            FittedStep& fitted)
      : model_(model),
        by_rules_(by_rules),
        endless_(endless),
        graph_(fitted.step->graph),
        placement_(fitted.placement) {}

  void explain() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Node& node = graph_.node(id);
      if (is_computed(node)) {
        for (DeviceIndex device = 0; device < placement_.decisions[id].device; ++device)
          explain_refusal(id, device);
      } else if (is_weight(node.role) || node.role == Role::kCache) {
        explain_leaf(id);
      }
    }
  }

 private:
  std::string name(DeviceIndex device) const { return std::string(model_.devices[device]->name()); }

  /// Whether a node would run on a device that has no room for it, or for its operands.
  bool lacks_room(NodeId id, DeviceIndex device) const {
    return endless_ != nullptr && endless_->placement.decisions[id].device == device &&
           placement_.decisions[id].device != device;
  }

  /// The part of a node that has no room on a device where it would be.
  std::string_view homeless(NodeId id, DeviceIndex device) const {
    bool cache = false;
    std::vector<NodeId> tensors = graph_.node(id).sources;
    tensors.push_back(id);
    for (NodeId tensor : tensors) {
      if (tensor == kNoNode) continue;
      const NodeId owner = graph_.node(tensor).storage;
      if (!lacks_room(owner, device)) continue;
      if (is_weight(graph_.node(owner).role)) return "its weights";
      cache = cache || graph_.node(owner).role == Role::kCache;
    }
    return cache ? "its cache" : "its operands";
  }

  std::string no_room(NodeId id, DeviceIndex device) const {
    const DeviceLimit& limit = endless_->limits[device];
    const MemoryPool pool = memory_pool(endless_->limits, endless_->needed);
    const bool shared = limit.pooled && pool.is_short();
    const std::uint64_t needed = shared ? pool.asked : endless_->needed[device];
    const std::uint64_t usable = shared ? pool.usable() : limit.usable();
    std::string text =
        fmt::format("{} has no room left for {}: {}it would need {} and may use {}", name(device),
                    homeless(id, device), shared ? with_others(device) : "", size_text(needed),
                    usable == kNoLimit ? "any amount" : size_text(usable));
    if (needed <= usable) {
      text += fmt::format(", in buffers of at most {}",
                          size_text(model_.devices[device]->memory().max_size()));
    }
    return text;
  }

  std::string with_others(DeviceIndex device) const {
    std::vector<std::string> names;
    for (const Device* each : model_.devices) names.emplace_back(each->name());
    return fmt::format("with {}, in unified memory, ",
                       names_in_pool(device, endless_->limits, names));
  }

  static const RejectedCandidate* find(const Decision& decision, DeviceIndex device) {
    for (const RejectedCandidate& passed : decision.rejected) {
      if (passed.device == device) return &passed;
    }
    return nullptr;
  }

  /// The refusal of a node by a better device: that under the rules if it refused it then; else
  /// that it has no room; else the present one.
  void explain_refusal(NodeId id, DeviceIndex device) {
    std::vector<RejectedCandidate>& all = placement_.decisions[id].rejected;
    auto now = std::find_if(all.begin(), all.end(),
                            [&](const RejectedCandidate& each) { return each.device == device; });
    const RejectedCandidate* before = find(by_rules_.decisions[id], device);
    std::optional<RejectedCandidate> better;
    const bool refused = before != nullptr && before->refusal != Refusal::kCost;
    const bool is_unused = now == all.end() && before != nullptr;  // nothing at all is on it
    if (!refused && lacks_room(id, device)) {
      better = RejectedCandidate{device, Refusal::kMemory, no_room(id, device)};
    } else if (refused || is_unused) {
      better = *before;
    }
    if (!better) return;
    if (now != all.end()) {
      *now = std::move(*better);
    } else {
      const auto place = std::find_if(all.begin(), all.end(), [&](const RejectedCandidate& each) {
        return each.device > device;
      });
      all.insert(place, std::move(*better));
    }
  }

  void explain_leaf(NodeId id) {
    const Decision& wanted = by_rules_.decisions[id];
    Decision& decision = placement_.decisions[id];
    decision.rule = wanted.rule;
    if (decision.device == wanted.device) {
      decision.reason = wanted.reason;
      return;
    }
    const DeviceIndex roomy =
        endless_ == nullptr ? decision.device : endless_->placement.decisions[id].device;
    if (roomy != decision.device) {
      decision.reason = fmt::format("{} has no room left for it", name(roomy));
    } else if (graph_.node(id).role == Role::kCache) {
      decision.reason = "it is on the device of its layer's weights";
    } else {
      decision.reason = fmt::format("{} does not compute all ops that use it", name(wanted.device));
    }
    for (const Conversion& conversion : placement_.conversions) {
      if (conversion.leaf == id) decision.reason += to_text(conversion);
    }
  }

  const ModelState& model_;
  const Placement& by_rules_;
  const Endless* endless_;
  const Graph& graph_;
  Placement& placement_;
};

/// The fit of a request with unlimited memory; nothing if the request got that fit.
Result<std::optional<Fit>> roomy_fit(const ModelState& model, const FitRequest& request,
                                     const Fit& fit) {
  // Existing caches may be on their devices because of a lack of memory.
  if (!fit.short_of_room && !model.residency.short_of_room && request.caches == nullptr)
    return std::optional<Fit>();
  SHUNT_ASSIGN(Fit roomy, fit_endless(model, request.steps));
  return std::optional<Fit>(std::move(roomy));
}

/// The limits of devices in all, with the bytes of weights that are in their memory already.
PerDevice<DeviceLimit> limits_in_all(const ModelState& model, const FitRequest& request) {
  PerDevice<DeviceLimit> limits = request.limits;
  if (request.loaded == nullptr) return limits;
  PerDevice<std::uint64_t> loaded(limits.size(), 0);
  std::uint64_t in_pool = 0;
  for (const DeviceIndex i : limits.indices()) {
    for (const auto& buffer : model.weights.buffers[i]) loaded[i] += buffer->size();
    if (limits[i].pooled || limits.is_cpu(i)) in_pool += loaded[i];
  }
  for (const DeviceIndex i : limits.indices()) {
    DeviceLimit& limit = limits[i];
    limit.margin = std::min(limit.margin, limit.free);
    if (limit.free > 0) limit.free += limit.pooled ? in_pool : loaded[i];
    if (limit.cap != kNoLimit) limit.cap += loaded[i];
  }
  return limits;
}

Result<FittedStep> place_fitted(const ModelState& model, const StepShape& shape,
                                const FitRequest& request, const Fit& fit, const Fit* roomy) {
  SHUNT_ASSIGN(FittedStep fitted, place_at_home(model, shape, fit));
  SHUNT_ASSIGN(const auto as_in_file, model.build(shape));
  SHUNT_ASSIGN(const Placement by_rules, model.place_freely(as_in_file));
  std::optional<Endless> endless;
  if (roomy != nullptr) {
    SHUNT_ASSIGN(FittedStep other, place_at_home(model, shape, *roomy));
    endless = {std::move(other.placement), roomy->planned, limits_in_all(model, request)};
  }
  Explainer(model, by_rules, endless ? &*endless : nullptr, fitted).explain();
  return fitted;
}

}  // namespace

Result<FittedStep> place_fitted(const ModelState& model, const StepShape& shape,
                                const FitRequest& request, const Fit& fit) {
  SHUNT_ASSIGN(const std::optional<Fit> roomy, roomy_fit(model, request, fit));
  return place_fitted(model, shape, request, fit, roomy ? &*roomy : nullptr);
}

Result<Verdict> judge_fit(const ModelState& model, const FitRequest& request, const Fit& fit,
                          const FallbackPolicy& policy) {
  // Notes of the placement are reported in any case. Nodes without room are found only if the
  // policy needs them.
  std::optional<Fit> roomy;
  if (!policy.accepts_all()) {
    SHUNT_ASSIGN(roomy, roomy_fit(model, request, fit));
  }
  std::optional<Verdict> worst;
  for (const StepShape& shape : request.steps) {
    SHUNT_ASSIGN(const FittedStep fitted,
                 place_fitted(model, shape, request, fit, roomy ? &*roomy : nullptr));
    const Graph& graph = fitted.step->graph;
    Verdict verdict;
    FallbackPolicy collecting = policy;
    collecting.log = [&](std::string_view line) { verdict.lines.emplace_back(line); };
    const Status status = apply_fallback_policy(graph, fitted.placement, collecting);
    if (!status) {
      for (const std::string& line : verdict.lines) {
        if (policy.log) policy.log(line);
      }
      return Error(status.error());
    }
    for (NodeId id = 0; id < graph.size(); ++id) {
      const bool fell = is_computed(graph.node(id)) && fallback_cause(fitted.placement, id);
      verdict.fell_back += fell ? 1 : 0;
    }
    if (!worst || verdict.fell_back > worst->fell_back) worst = std::move(verdict);
  }
  return worst.value_or(Verdict());
}

}  // namespace shunt
