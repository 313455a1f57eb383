#include "schedule/place/optimize/tables.h"

#include <algorithm>
#include <unordered_map>

namespace shunt {

CostTables::CostTables(const CostProblem& problem)
    : devices_(problem.device_count()),
      nodes_(problem.nodes.size() + problem.final_reads.size()),
      assigned_nodes_(problem.nodes.size()),
      seconds_(nodes_, devices_, kNever),
      bytes_(nodes_, 0),
      first_source_(1, 0),
      group_of_(nodes_, kAlone) {
  for (const CostLink& link : problem.links) {
    // Both, so that no product of 0 bytes and kNever is taken.
    const bool leads = link.latency < kNever && link.seconds_per_byte < kNever;
    latency_.push_back(leads ? link.latency : kNever);
    seconds_per_byte_.push_back(leads ? link.seconds_per_byte : 0);
  }
  for (const CostExternal& external : problem.externals) {
    bytes_.push_back(static_cast<double>(external.bytes));
    external_home_.push_back(external.device);
  }

  const auto add_source = [&](const CostValue& value) {
    const auto id = static_cast<std::uint32_t>(value.external ? nodes_ + value.index : value.index);
    const auto begin = sources_.begin() + static_cast<std::ptrdiff_t>(first_source_.back());
    if (std::find(begin, sources_.end(), id) == sources_.end()) sources_.push_back(id);
  };
  for (std::size_t i = 0; i < assigned_nodes_; ++i) {
    const CostNode& node = problem.nodes[i];
    bytes_[i] = static_cast<double>(node.bytes);
    const DeviceSpan<const double> seconds(node.seconds);
    for (const DeviceIndex d : indices()) {
      const bool may = node.pinned == kNoDevice || node.pinned == d;
      seconds_(i, d) = may ? seconds[d] : kNever;
    }
    for (const CostValue& source : node.sources) add_source(source);
    first_source_.push_back(sources_.size());
  }
  for (std::size_t i = 0; i < problem.final_reads.size(); ++i) {
    const CostRead& read = problem.final_reads[i];
    seconds_(assigned_nodes_ + i, read.device) = 0;
    add_source(read.value);
    first_source_.push_back(sources_.size());
  }
  add_users();
  add_groups(problem);
}

/// By value, the nodes that read it: the sources, turned round.
void CostTables::add_users() {
  first_user_.assign(values() + 1, 0);
  for (std::uint32_t value : sources_) ++first_user_[value + 1];
  for (std::size_t v = 0; v < values(); ++v) first_user_[v + 1] += first_user_[v];
  users_.resize(sources_.size());
  std::vector<std::size_t> next(first_user_.begin(), first_user_.end() - 1);
  for (std::size_t i = 0; i < nodes_; ++i) {
    for (std::uint32_t value : sources(i)) users_[next[value]++] = static_cast<std::uint32_t>(i);
  }
}

void CostTables::add_groups(const CostProblem& problem) {
  std::unordered_map<int, std::size_t> index_of;
  for (std::size_t i = 0; i < assigned_nodes_; ++i) {
    if (problem.nodes[i].group < 0) continue;
    const std::size_t index =
        index_of.try_emplace(problem.nodes[i].group, groups_.size()).first->second;
    if (index == groups_.size()) groups_.emplace_back();
    groups_[index].push_back(static_cast<std::uint32_t>(i));
    group_of_[i] = index;
  }
  for (const auto& group : groups_) {
    for (const DeviceIndex d : indices()) {
      const bool all =
          std::all_of(group.begin(), group.end(), [&](std::uint32_t i) { return allowed(i, d); });
      for (std::uint32_t i : group) {
        if (!all) seconds_(i, d) = kNever;
      }
    }
  }
}

}  // namespace shunt
