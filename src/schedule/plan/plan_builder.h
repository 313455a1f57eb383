// Building an executable from a placed graph.
#pragma once

#include <memory>
#include <vector>

#include "schedule/plan/compiled_plan.h"

namespace shunt {

class PlanBuilder {
 public:
  PlanBuilder(std::shared_ptr<const Graph> graph, Placement placement)
      : parts_{.graph = std::move(graph), .placement = std::move(placement)} {}

  /// Checks the options, cuts the graph into segments, prepares their programs, and gives each
  /// tensor a place in memory. Allocates no memory of devices. Called once.
  Status lay_out(const CompileOptions& options);
  /// The bytes that each run of the executable will allocate, by device. After lay_out().
  std::vector<MemoryUse> memory() const;
  /// Lists the actions of a step. Called once, after lay_out().
  std::shared_ptr<const CompiledPlan> build() &&;

 private:
  CompiledPlan::Parts parts_;
  std::vector<CopyRoute> routes_;  // by copy
  std::vector<NodeId> kept_;
  std::vector<bool> watched_;  // by node id
};

}  // namespace shunt
