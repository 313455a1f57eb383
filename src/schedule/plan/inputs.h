// The memory of a step's inputs.
#pragma once

#include <vector>

#include "schedule/memory/homes.h"
#include "schedule/plan/allocation.h"

namespace shunt {

/// Inputs in memory of one type, on the ledger of one device.
struct InputPool {
  struct Input {
    NodeId node = 0;
    std::size_t request = 0;  ///< in the group
    std::size_t offset = 0;   ///< in that
  };
  Home home;
  std::vector<Input> inputs = {};
  RequestGroup group = {};
};

/// Lays out the inputs of a step: those of a batch side by side, if none of them is in a batch
/// before it. OutOfMemory names the device.
Result<std::vector<InputPool>> lay_out_inputs(const Graph& graph, const Placement& placement,
                                              const SegmentedGraph& cut);

}  // namespace shunt
