#include "schedule/optimize/makespan.h"

#include <algorithm>
#include <unordered_map>

namespace shunt {

namespace {

constexpr double kAbsent = -1;

/// Devices, links and values, at the time each becomes free or known.
class Clock {
 public:
  Clock(const CostProblem& problem, StepTimes* times)
      : problem_(problem),
        times_(times),
        devices_(static_cast<std::size_t>(problem.devices)),
        device_free_(devices_, 0),
        link_free_(devices_ * devices_, 0),
        of_nodes_(problem.nodes.size() * devices_, kAbsent),
        of_externals_(problem.externals.size() * devices_, kAbsent) {
    for (std::size_t i = 0; i < problem.externals.size(); ++i) {
      of_externals_[i * devices_ + static_cast<std::size_t>(problem.externals[i].device)] = 0;
    }
  }

  /// When a value is on a device; it is sent there if it isn't yet. `home`: where it was made.
  double arrival(const CostValue& value, std::size_t home, std::size_t to, std::size_t bytes) {
    double* row = &(value.external ? of_externals_ : of_nodes_)[value.index * devices_];
    if (row[to] != kAbsent) return row[to];
    const CostLink& link = problem_.links[home * devices_ + to];
    double& link_free = link_free_[home * devices_ + to];
    if (link.latency == kNever || link.seconds_per_byte == kNever) {
      link_free = kNever;
    } else {
      const double start = std::max(row[home], link_free);
      link_free = start + (link.latency + static_cast<double>(bytes) * link.seconds_per_byte);
      if (times_ != nullptr) {
        times_->transfers.push_back(
            {value, static_cast<int>(home), static_cast<int>(to), start, link_free});
      }
    }
    return row[to] = link_free;
  }

  double compute(std::size_t node, std::size_t device, double ready) {
    double& free = device_free_[device];
    const double start = std::max(free, ready);
    free = start + problem_.nodes[node].seconds[device];
    if (times_ != nullptr) times_->nodes.push_back({start, free});
    return of_nodes_[node * devices_ + device] = free;
  }

 private:
  const CostProblem& problem_;
  StepTimes* times_;
  std::size_t devices_;
  std::vector<double> device_free_;
  std::vector<double> link_free_;
  std::vector<double> of_nodes_;  ///< [node][device]
  std::vector<double> of_externals_;
};

bool keeps_pins_and_groups(const CostProblem& problem, const Assignment& assignment) {
  std::unordered_map<int, int> device_of_group;
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
  const auto arrival = [&](const CostValue& value, int to) {
    const int home =
        value.external ? problem.externals[value.index].device : assignment[value.index];
    const std::size_t bytes =
        value.external ? problem.externals[value.index].bytes : problem.nodes[value.index].bytes;
    return clock.arrival(value, static_cast<std::size_t>(home), static_cast<std::size_t>(to),
                         bytes);
  };
  double end = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    double ready = 0;
    for (const CostValue& source : problem.nodes[i].sources) {
      ready = std::max(ready, arrival(source, assignment[i]));
    }
    end = std::max(end, clock.compute(i, static_cast<std::size_t>(assignment[i]), ready));
  }
  for (const CostRead& read : problem.final_reads) {
    end = std::max(end, arrival(read.value, read.device));
  }
  return end;
}

}  // namespace shunt
