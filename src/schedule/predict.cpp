// The part of compiling that allocates nothing, and what it tells of the rest.
#include "schedule/predict.h"

#include <algorithm>

#include "base/fail.h"
#include "base/guarded.h"
#include "schedule/compiled_plan.h"

namespace shunt {

Result<std::vector<MemoryUse>> CompiledPlan::predict(const CompileOptions& options) {
  SHUNT_TRY(lay_out(options));
  const std::size_t steps = instances_.size();
  std::vector<MemoryUse> uses;
  for (std::size_t i = 0; i < placement_.devices.size(); ++i) {
    MemoryUse use;
    use.device = static_cast<int>(i);
    const DeviceRequests& requests = allocation_.devices[i];
    use.activations = requests.shared.layout.total() + steps * requests.own.layout.total();
    uses.push_back(use);
  }
  SHUNT_ASSIGN(const MemoryLayout inputs, lay_out_inputs());
  const Copy* const largest = largest_staged();
  const std::size_t staged = largest == nullptr ? 0 : bytes_of(largest->node);
  uses.back().inputs = steps * inputs.total();
  uses.back().staging = steps * staged;
  return uses;
}

Result<std::vector<MemoryUse>> predict_memory(std::shared_ptr<const Graph> graph,
                                              Placement placement, const CompileOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to compile");
  return guarded([&]() -> Result<std::vector<MemoryUse>> {
    return CompiledPlan(std::move(graph), std::move(placement)).predict(options);
  });
}

}  // namespace shunt
