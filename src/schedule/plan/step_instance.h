// One of the steps that a run may have in flight: its memory, bindings and events.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "graph/gathered.h"
#include "schedule/plan/run_memory.h"
#include "schedule/plan/run_streams.h"

namespace shunt {

/// A weight of which only slices are copied, each by a write that waits for the one before.
struct GatheredWrite {
  GatheredSlices slices;
  std::array<std::unique_ptr<Event>, 3> links = {};
};

/// An action of the executable with its addresses, streams and events.
struct BoundAction {
  Stream* stream = nullptr;  ///< null: the host does it
  Binding* binding = nullptr;
  Address from = {};
  Address to = {};
  std::byte* host = nullptr;  ///< where a copy, or the host itself, reads or writes on the host
  GatheredWrite* gathered = nullptr;       ///< that is found, or copied
  std::unique_ptr<Event> began = nullptr;  ///< its first part is done; only for a trace
  std::unique_ptr<Event> done = nullptr;
  std::vector<Event*> waits = {};  ///< events of the same step, then those of the step before
  std::size_t same_step = 0;       ///< how many are of the same step

  /// Unless the step before is under way, only its own step's events matter.
  std::span<Event* const> waits_for(bool first_step) const {
    return std::span(waits).first(first_step ? same_step : waits.size());
  }
};

struct StepInstance {
  StepInstance() = default;
  StepInstance(StepInstance&&) = default;

  // Members below use those above.
  BlockBuffers own;              // by block; null: shared by all steps
  std::vector<Buffer*> buffers;  // by block, own ones and shared ones
  std::vector<std::unique_ptr<Binding>> bindings;
  std::vector<std::unique_ptr<GatheredWrite>> gathered;
  std::vector<BoundAction> actions;

  // Of the step that it has now, or had.
  std::uint64_t step = 0;
  bool pending = false;  // started, and not waited for
  DynamicDimValues dynamic_dims = {};
  const std::atomic<bool>* cancel = nullptr;
  int threads = 0;            // RunArgs::threads
  bool under_way = false;     // something was submitted, and not waited for
  std::size_t stage = 0;      // the next to be submitted
  std::size_t submitted = 0;  // actions
  Status failed;              // submitting it went wrong, or running it

  Address at(const PlanAddress& place) const {
    if (place.leaf != nullptr) return {place.leaf, place.offset};
    return place ? Address{buffers[place.block], place.offset} : Address();
  }
  std::byte* host_at(const PlanAddress& place) const;
};

/// Allocates its memory, then binds programs and creates events in the order of the actions. Opens
/// streams that are not open yet. Errors name the device, and the segment if there is one.
Result<StepInstance> create_instance(const CompiledPlan& executable, const BlockBuffers& shared,
                                     RunStreams& streams);

/// Connects the events of all instances of a run: the dependencies are the same in all steps.
void connect_instances(const CompiledPlan& executable, std::span<StepInstance> instances);

}  // namespace shunt
