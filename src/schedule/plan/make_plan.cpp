// Places and compiles until the plan fits: a device that refuses memory gets fewer operations each
// time.
#include <algorithm>

#include "base/guarded.h"
#include "device/device_set.h"
#include "graph/storage_users.h"
#include "shunt/message.h"
#include "shunt/plan.h"

namespace shunt {

namespace {

class PlanMaker {
 public:
  PlanMaker(std::shared_ptr<const Graph> graph, std::span<Device* const> devices,
            const PlaceOptions& place_options, const CompileOptions& compile_options)
      : graph_(std::move(graph)),
        devices_(devices),
        place_options_(place_options),
        compile_options_(compile_options),
        ends_(devices.size()) {
    compile_options_.memory = place_options.memory;
    for (End& end : ends_) end.node = static_cast<NodeId>(graph_->size());
    exclusions_.assign(place_options.exclusions.begin(), place_options.exclusions.end());
    wanted_exclusions_ = exclusions_.size();
  }

  Result<std::unique_ptr<Plan>> run() {
    while (true) {
      place_options_.exclusions = exclusions_;
      SHUNT_ASSIGN(Placement placement, place(*graph_, devices_, place_options_));
      placement.notes.insert(placement.notes.end(), notes_.begin(), notes_.end());
      auto plan = compile(graph_, placement, compile_options_);
      if (plan || plan.error().code() != ErrorCode::kOutOfMemory) return plan;
      if (!lower(placement, plan.error())) return explain_end(placement, plan.error());
    }
  }

 private:
  /// Where a device's part of the graph ends: from this node on, all that could be elsewhere is.
  struct End {
    NodeId node = 0;
    std::string reason = {};
    int attempts = 0;
  };

  int cpu() const { return cpu_of(devices_); }
  std::string_view name(int device) const { return device_at(devices_, device).name(); }

  /// Whether an operation is bound to its device.
  bool is_bound(const Placement& placement, NodeId id) const {
    const Node& node = graph_->node(id);
    return placement.decisions[id].rule == Rule::kPinned ||
           (node.writes_storage && graph_->node(node.storage).is_leaf());
  }

  /// The operations on a device that must be there, or those that need not.
  std::vector<NodeId> on(const Placement& placement, int device, bool bound) const {
    std::vector<NodeId> operations;
    for (NodeId id = 0; id < graph_->size(); ++id) {
      if (!is_computed(graph_->node(id)) || placement.decisions[id].device != device) continue;
      if (is_bound(placement, id) == bound) operations.push_back(id);
    }
    return operations;
  }

  /// Accelerators whose memory was refused: the one that the error names, and those that share its
  /// memory; all if it names none.
  std::vector<int> concerned(const Error& error) const {
    const auto memory = [&](int device) { return &device_at(devices_, device).memory(); };
    std::vector<int> devices;
    for (int named = 0; named < cpu() && devices.empty(); ++named) {
      if (!error.device().empty() && error.device() != name(named)) continue;
      for (int i = 0; i < cpu(); ++i) {
        if (error.device().empty() || memory(i) == memory(named)) devices.push_back(i);
      }
    }
    return devices;
  }

  /// False if nothing can leave the devices that have too little.
  bool lower(const Placement& placement, const Error& error) {
    bool lowered = false;
    for (int device : concerned(error)) lowered |= lower_device(placement, device, error);
    exclusions_.resize(wanted_exclusions_);
    for (int device = 0; device < cpu(); ++device) {
      for (NodeId id = ends_[device].node; id < graph_->size(); ++id) {
        if (!is_computed(graph_->node(id)) || is_bound(placement, id)) continue;
        exclusions_.push_back({id, device, Refusal::kMemory, ends_[device].reason});
      }
    }
    return lowered;
  }

  bool lower_device(const Placement& placement, int device, const Error& error) {
    End& end = ends_[device];
    const std::vector<NodeId> free = on(placement, device, false);
    if (free.empty()) return false;
    // An eighth leaves, then a quarter, then half of the rest each time.
    const std::size_t leave =
        std::max<std::size_t>(free.size() >> std::max(3 - end.attempts++, 1), 1);
    const std::size_t keep = free.size() - leave;
    end.node = keep == 0 ? 0 : free[keep];
    const std::string what = keep == 0
                                 ? std::string("none of its operations")
                                 : fmt::format("the first {} of its {} operations, those before {}",
                                               keep, free.size(), graph_->describe(end.node));
    const std::size_t bound = on(placement, device, true).size();
    end.reason =
        fmt::format("memory was refused ({}), so {} keeps {}{}", to_text(error), name(device), what,
                    bound == 0 ? "" : fmt::format(" and {} that can't move", bound));
    notes_.push_back(end.reason);
    return true;
  }

  /// An error without a remedy, with an operation that must stay all the same, or the last attempt.
  Error explain_end(const Placement& placement, const Error& error) const {
    for (int device : concerned(error)) {
      const std::vector<NodeId> bound = on(placement, device, true);
      if (bound.empty()) continue;
      const NodeId id = bound.front();
      return Error(error).with_context(fmt::format("{} can't leave {} ({})", graph_->describe(id),
                                                   name(device), placement.decisions[id].reason));
    }
    return notes_.empty() ? error : Error(error).with_context(notes_.back());
  }

  std::shared_ptr<const Graph> graph_;
  std::span<Device* const> devices_;
  PlaceOptions place_options_;
  CompileOptions compile_options_;
  PerDevice<End> ends_;
  std::vector<Exclusion> exclusions_;  // the caller's first, then those of this class
  std::size_t wanted_exclusions_ = 0;  // the caller's
  std::vector<std::string> notes_;
};

}  // namespace

Result<std::unique_ptr<Plan>> make_plan(std::shared_ptr<const Graph> graph,
                                        std::span<Device* const> devices,
                                        const PlaceOptions& place_options,
                                        const CompileOptions& compile_options) {
  if (graph == nullptr) return invalid("there is no graph to make a plan of");
  if (!compile_options.memory.empty()) {
    return invalid("memory of leaves belongs in the options for placing, not for compiling");
  }
  return guarded([&]() -> Result<std::unique_ptr<Plan>> {
    return PlanMaker(std::move(graph), devices, place_options, compile_options).run();
  });
}

}  // namespace shunt
