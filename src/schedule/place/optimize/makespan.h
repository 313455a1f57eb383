// The predicted duration of a step when every node runs on its assigned device.
#pragma once

#include <vector>

#include "schedule/place/optimize/problem.h"

namespace shunt {

/// The times of nodes and transfers of a step, in seconds from its start.
struct StepTimes {
  struct Node {
    double start = 0;
    double end = 0;
  };
  struct Transfer {
    CostValue value;
    DeviceIndex from = 0;
    DeviceIndex to = 0;
    double start = 0;
    double end = 0;
  };
  std::vector<Node> nodes;          ///< by CostProblem::nodes
  std::vector<Transfer> transfers;  ///< in the order in which they are needed
};

/// Seconds from the start until every node is computed and every final read is served. The result
/// is kNever if a node is where it can't run, a pin or a group is broken, or a value would have to
/// go where no link leads.
///
/// Devices and links work side by side. Each does one thing at a time, in a fixed order:
///  1. A device computes its nodes in the order of CostProblem::nodes:
///       `start(n) = max(finish of the node before it on the device, arrival on the device of every
///       source of n)`
///       `finish(n) = start(n) + seconds(n, device)`
///  2. A value goes to another device at most once, however many nodes there read it, straight from
///     the device that made it:
///       `arrival(v, to) = max(finish(v), arrival of the transfer before it on the link) +
///       latency + bytes * seconds_per_byte`
///  3. The transfers of a link have the order of the first node that reads them on the far side.
///     Transfers for the same node have the order of its sources. Final reads come last, in their
///     own order.
/// External values are available at time 0. Nothing waits for anything else. `times`, if not null,
/// gets all of these times; its content is undefined if the result is kNever.
double makespan(const CostProblem& problem, const Assignment& assignment,
                StepTimes* times = nullptr);

}  // namespace shunt
