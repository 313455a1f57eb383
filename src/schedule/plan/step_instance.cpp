#include "schedule/plan/step_instance.h"

#include "schedule/plan/local_addresses.h"
#include "shunt/message.h"

namespace shunt {

namespace {

class InstanceMaker {
 public:
  InstanceMaker(const CompiledPlan& executable, RunStreams& streams)
      : executable_(executable), streams_(streams) {}

  Result<StepInstance> run(const BlockBuffers& shared) {
    SHUNT_ASSIGN(instance_.own, allocate_own_blocks(executable_));
    for (std::size_t i = 0; i < shared.size(); ++i) {
      instance_.buffers.push_back(instance_.own[i] ? instance_.own[i].get() : shared[i].get());
    }
    const PlanLayout& layout = executable_.layout();
    LocalAddresses<Address> local(executable_.cut(), resolve(layout.of_node),
                                  resolve(layout.of_copy));
    for (const Action& action : executable_.actions()) {
      BoundAction bound;
      if (action.device != kHostAction) {
        SHUNT_ASSIGN(bound.stream, streams_.of(action.device, action.queue));
      }
      if (action.kind == ActionKind::kRun) {
        SHUNT_TRY(bind_segment(action, local.of(action.segment, action.device), bound));
      } else {
        SHUNT_TRY(bind_memory(action, bound));
      }
      if (bound.stream != nullptr) {
        SHUNT_ASSIGN(bound.done, streams_.create_event(action.device, action.queue));
      }
      if (streams_.timed() && action.parts.size() > 1) {
        SHUNT_ASSIGN(bound.began, streams_.create_event(action.device, action.queue));
      }
      instance_.actions.push_back(std::move(bound));
    }
    return std::move(instance_);
  }

 private:
  std::vector<Address> resolve(std::span<const PlanAddress> places) const {
    std::vector<Address> addresses;
    addresses.reserve(places.size());
    for (const PlanAddress& place : places) addresses.push_back(instance_.at(place));
    return addresses;
  }

  Status bind_segment(const Action& action, std::span<const Address> nodes, BoundAction& bound) {
    const Address scratch = instance_.at(executable_.layout().of_scratch[action.segment]);
    SHUNT_ASSIGN(auto binding, executable_.bind(action.segment, {nodes, scratch}));
    bound.binding = binding.get();
    instance_.bindings.push_back(std::move(binding));
    return ok();
  }

  Status bind_memory(const Action& action, BoundAction& bound) {
    bound.from = instance_.at(action.from);
    bound.to = instance_.at(action.to);
    if (action.kind == ActionKind::kGather) add_gathered(action);
    if (executable_.copies_slices(action)) {
      SHUNT_TRY(add_links(action, *instance_.gathered.back()));
    }
    if (action.kind == ActionKind::kGather || executable_.copies_slices(action)) {
      bound.gathered = instance_.gathered.back().get();
    }
    if (action.kind == ActionKind::kCopy) return ok();
    bound.host = instance_.host_at(action.kind == ActionKind::kRead ? action.to : action.from);
    // The host may not reach the memory of a leaf.
    if (bound.host != nullptr || action.from.leaf == nullptr) return ok();
    return invalid("{} is not in one piece", executable_.graph().describe(action.node));
  }

  void add_gathered(const Action& action) {
    const Copy& copy = executable_.cut().copies[action.copy];
    instance_.gathered.push_back(std::make_unique<GatheredWrite>(
        GatheredWrite{GatheredSlices(executable_.graph(), copy.node, copy.gathered)}));
  }

  /// Between the writes of the slices that the action before has gathered.
  Status add_links(const Action& write, GatheredWrite& gathered) {
    for (auto& link : gathered.links) {
      SHUNT_ASSIGN(link, streams_.create_event(write.device, write.queue));
    }
    return ok();
  }

  const CompiledPlan& executable_;
  RunStreams& streams_;
  StepInstance instance_;
};

}  // namespace

std::byte* StepInstance::host_at(const PlanAddress& place) const {
  const Address address = at(place);
  std::byte* const data = address.buffer->host_data();
  return data == nullptr ? nullptr : data + address.offset;
}

Result<StepInstance> create_instance(const CompiledPlan& executable, const BlockBuffers& shared,
                                     RunStreams& streams) {
  return InstanceMaker(executable, streams).run(shared);
}

void connect_instances(const CompiledPlan& executable, std::span<StepInstance> instances) {
  for (std::size_t i = 0; i < instances.size(); ++i) {
    StepInstance& instance = instances[i];
    const StepInstance& before = instances[(i + instances.size() - 1) % instances.size()];
    for (std::size_t action = 0; action < instance.actions.size(); ++action) {
      BoundAction& bound = instance.actions[action];
      const auto add = [&](const StepInstance& of, std::size_t other) {
        if (Event* event = of.actions[other].done.get()) bound.waits.push_back(event);
      };
      const Waits& waits = executable.waits(action);
      for (std::size_t other : waits.same_step) add(instance, other);
      bound.same_step = bound.waits.size();
      for (std::size_t other : waits.step_before) add(before, other);
    }
  }
}

}  // namespace shunt
