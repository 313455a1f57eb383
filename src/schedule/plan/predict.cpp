#include "schedule/plan/predict.h"

#include "base/guarded.h"
#include "schedule/plan/plan_builder.h"
#include "shunt/message.h"

namespace shunt {

Result<std::vector<MemoryUse>> predict_memory(std::shared_ptr<const Graph> graph,
                                              Placement placement, const CompileOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to compile");
  return guarded([&]() -> Result<std::vector<MemoryUse>> {
    PlanBuilder builder(std::move(graph), std::move(placement));
    SHUNT_TRY(builder.lay_out(options));
    return builder.memory();
  });
}

}  // namespace shunt
