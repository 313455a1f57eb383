// Lower bounds of the time after a node is done. They need no assignment.
#pragma once

#include <vector>

#include "schedule/place/optimize/tables.h"

namespace shunt {

/// The optimistic cost table of Arabnejad and Barbosa ("List Scheduling Algorithm for Heterogeneous
/// Systems by an Optimistic Cost Table", 2014, equation 3). Each transfer is priced by its link:
///   `after(n, d) = max over users u of n of min over devices e of [d != e] transfer(n, d, e) +
///   seconds(u, e) + after(u, e)`
/// A bound because devices and links may only be busier than that. Along a chain it is the result
/// of exact dynamic programming, and the bound is reached.
class CostBounds {
 public:
  explicit CostBounds(const CostTables& tables);

  /// Seconds from the end of a node on a device to the end of all, at least.
  double after(std::size_t node, DeviceIndex device) const { return after_(node, device); }
  /// Sum over nodes from this one on of the seconds on the fastest device of each.
  double work_from(std::size_t node) const { return work_from_[node]; }

 private:
  DeviceTable<double> after_;
  std::vector<double> work_from_;
};

}  // namespace shunt
