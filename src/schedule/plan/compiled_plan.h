// A compiled graph: the work of a step, the programs for it, and the layout of its memory.
#pragma once

#include <memory>
#include <vector>

#include "schedule/plan/action.h"
#include "schedule/plan/layout.h"
#include "schedule/plan/stages.h"
#include "schedule/plan/waits.h"

namespace shunt {

/// Never changes, and has neither memory nor streams. Several runs can share it, each with memory
/// and streams of its own; they are created one at a time. Runs whose graph writes into leaves must
/// not overlap, as they share the leaves. Devices and the memory of leaves must outlive it.
class CompiledPlan {
 public:
  /// A node that the host can read after a step.
  struct Readable {
    NodeId node = 0;
    PlanAddress at;
  };
  struct Parts {
    std::shared_ptr<const Graph> graph;
    Placement placement = {};
    SegmentedGraph cut = {};
    std::vector<std::unique_ptr<Program>> programs = {};  ///< by segment
    PlanLayout layout = {};
    std::vector<Action> actions = {};  ///< of a step, in order; the same for all steps in flight
    std::vector<Waits> waits = {};     ///< by action
    std::vector<Stage> stages = {};
    std::vector<Readable> readable = {};
    std::size_t steps_in_flight = 1;
  };
  explicit CompiledPlan(Parts parts);

  const Graph& graph() const { return *parts_.graph; }
  const Placement& placement() const { return parts_.placement; }
  std::span<Device* const> devices() const { return parts_.placement.devices; }
  const SegmentedGraph& cut() const { return parts_.cut; }
  const PlanLayout& layout() const { return parts_.layout; }
  std::span<const Action> actions() const { return parts_.actions; }
  const Waits& waits(std::size_t action) const { return parts_.waits[action]; }
  std::span<const Stage> stages() const { return parts_.stages; }
  std::span<const Readable> readable() const { return parts_.readable; }
  std::size_t steps_in_flight() const { return parts_.steps_in_flight; }
  /// By device: the bytes that each run allocates.
  std::span<const MemoryUse> memory() const { return memory_; }

  /// Whether an action copies just the slices that the action before it has gathered.
  bool copies_slices(const Action& action) const;
  /// An error names the segment.
  Result<std::unique_ptr<Binding>> bind(std::size_t segment, const Addresses& addresses) const;
  /// An error of an action, with its nodes and its device.
  Error in_action(Error error, std::size_t action) const;

 private:
  Error in_segment(Error error, std::size_t segment) const;

  const Parts parts_;
  const std::vector<MemoryUse> memory_;
};

}  // namespace shunt
