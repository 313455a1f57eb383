#include "base/guarded.h"
#include "schedule/plan/plan_builder.h"
#include "schedule/plan/plan_run.h"
#include "shunt/message.h"

namespace shunt {

Result<std::unique_ptr<Plan>> compile(std::shared_ptr<const Graph> graph, Placement placement,
                                      const CompileOptions& options) {
  if (graph == nullptr) return invalid("there is no graph to compile");
  return guarded([&]() -> Result<std::unique_ptr<Plan>> {
    PlanBuilder builder(std::move(graph), std::move(placement));
    SHUNT_TRY(builder.lay_out(options));
    return PlanRun::create(std::move(builder).build(),
                           {.visit = options.observer.visit, .trace = options.trace});
  });
}

}  // namespace shunt
