#include "schedule/place/optimize/makespan.h"

#include <algorithm>
#include <unordered_map>

#include "schedule/place/optimize/device_table.h"

namespace shunt {

namespace {

/// Devices, links and values, at the time each becomes free or known.
class Clock {
 public:
  Clock(const CostProblem& problem, StepTimes* times)
      : problem_(problem),
        times_(times),
        device_free_(problem.device_count(), 0),
        link_free_(problem.device_count(), PerDevice<double>(problem.device_count(), 0)),
        of_nodes_(problem.nodes.size(), problem.device_count(), kAbsent),
        of_externals_(problem.externals.size(), problem.device_count(), kAbsent) {
    for (std::size_t i = 0; i < problem.externals.size(); ++i) {
      of_externals_(i, problem.externals[i].device) = 0;
    }
  }

  /// When a value is on a device; it is sent there if it isn't yet. `home`: where it was made.
  double arrival(const CostValue& value, DeviceIndex home, DeviceIndex to, std::size_t bytes) {
    double* row = (value.external ? of_externals_ : of_nodes_).row(value.index);
    if (row[to] != kAbsent) return row[to];
    const CostLink& link = problem_.link(home, to);
    double& link_free = link_free_[home][to];
    if (link.latency == kNever || link.seconds_per_byte == kNever) {
      link_free = kNever;
    } else {
      const double start = std::max(row[home], link_free);
      link_free = start + (link.latency + static_cast<double>(bytes) * link.seconds_per_byte);
      if (times_ != nullptr) {
        times_->transfers.push_back({value, home, to, start, link_free});
      }
    }
    return row[to] = link_free;
  }

  double compute(std::size_t node, DeviceIndex device, double ready) {
    double& free = device_free_[device];
    const double start = std::max(free, ready);
    free = start + DeviceSpan<const double>(problem_.nodes[node].seconds)[device];
    if (times_ != nullptr) times_->nodes.push_back({start, free});
    return of_nodes_(node, device) = free;
  }

 private:
  const CostProblem& problem_;
  StepTimes* times_;
  PerDevice<double> device_free_;
  PerDevice<PerDevice<double>> link_free_;  ///< [from][to]
  DeviceTable<double> of_nodes_;            ///< arrivals
  DeviceTable<double> of_externals_;
};

bool keeps_pins_and_groups(const CostProblem& problem, const Assignment& assignment) {
  std::unordered_map<int, DeviceIndex> device_of_group;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const CostNode& node = problem.nodes[i];
    if (node.pinned >= 0 && node.pinned != assignment[i]) return false;
    if (node.group < 0) continue;
    if (device_of_group.try_emplace(node.group, assignment[i]).first->second != assignment[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

double makespan(const CostProblem& problem, const Assignment& assignment, StepTimes* times) {
  if (!keeps_pins_and_groups(problem, assignment)) return kNever;
  Clock clock(problem, times);
  const auto arrival = [&](const CostValue& value, DeviceIndex to) {
    const DeviceIndex home =
        value.external ? problem.externals[value.index].device : assignment[value.index];
    const std::size_t bytes =
        value.external ? problem.externals[value.index].bytes : problem.nodes[value.index].bytes;
    return clock.arrival(value, home, to, bytes);
  };
  double end = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    double ready = 0;
    for (const CostValue& source : problem.nodes[i].sources) {
      ready = std::max(ready, arrival(source, assignment[i]));
    }
    end = std::max(end, clock.compute(i, assignment[i], ready));
  }
  for (const CostRead& read : problem.final_reads) {
    end = std::max(end, arrival(read.value, read.device));
  }
  return end;
}

}  // namespace shunt
