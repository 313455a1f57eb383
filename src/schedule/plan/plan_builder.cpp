#include "schedule/plan/plan_builder.h"

#include "base/to_size.h"
#include "device/device_run.h"
#include "schedule/plan/action_list.h"
#include "schedule/plan/options.h"
#include "schedule/plan/programs.h"

namespace shunt {

Status PlanBuilder::lay_out(const CompileOptions& options) {
  const Graph& graph = *parts_.graph;
  const Placement& placement = parts_.placement;
  SHUNT_TRY(check_options(graph, placement, options));
  SHUNT_ASSIGN(const std::vector<Address> leaves, find_leaves(graph, options));
  kept_ = find_kept(graph, options);
  watched_ = find_watched(graph, options.observer);
  parts_.steps_in_flight = to_size(steps_in_flight(options));

  const auto types = memory_types(graph, placement, types_of(leaves));
  parts_.cut = cut_segments(graph, placement, kept_, types, watched_);
  routes_ = find_routes(graph, placement, parts_.cut, types);
  SHUNT_ASSIGN(parts_.programs, prepare_programs(graph, placement, parts_.cut, leaves, kept_,
                                                 options.observer.nodes));
  SHUNT_ASSIGN(const Allocation allocation,
               allocate_plan(graph, placement, parts_.cut, parts_.programs, kept_,
                             parts_.steps_in_flight > 1));
  SHUNT_ASSIGN(const std::vector<InputPool> inputs, lay_out_inputs(graph, placement, parts_.cut));
  parts_.layout = make_layout(graph, placement, parts_.cut, leaves, routes_, inputs, allocation);
  return ok();
}

std::vector<MemoryUse> PlanBuilder::memory() const {
  return memory_use(parts_.layout.blocks, parts_.placement.devices, parts_.steps_in_flight);
}

std::shared_ptr<const CompiledPlan> PlanBuilder::build() && {
  list_actions(parts_, routes_, kept_, watched_);
  return std::make_shared<const CompiledPlan>(std::move(parts_));
}

}  // namespace shunt
