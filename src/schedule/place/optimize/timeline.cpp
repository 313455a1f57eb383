#include "schedule/place/optimize/timeline.h"

#include <algorithm>

namespace shunt {

namespace {

constexpr std::int64_t kReadersPerStep = 8;
constexpr std::uint32_t kNobody = static_cast<std::uint32_t>(-1);

}  // namespace

Timeline::Timeline(const CostTables& tables, const CostBounds& bounds)
    : tables_(tables),
      bounds_(bounds),
      free_(tables.clocks()),
      arrival_(tables.values(), tables.devices()),
      tail_(tables.nodes()),
      transfer_tail_(tables.values(), tables.devices()),
      free_tail_((tables.nodes() + 1) * free_.size()),
      start_(tables.nodes()),
      through_(tables.nodes()),
      sent_for_(tables.values(), tables.devices()),
      moved_mark_(tables.nodes(), 0) {}

void Timeline::start_walk() {
  position_ = 0;
  std::fill(free_.begin(), free_.end(), 0.0);
  for (std::size_t v = tables_.nodes(); v < tables_.values(); ++v) {
    arrival_.fill_row(v, kAbsent);
    arrival_(v, tables_.external_home(v)) = 0;
  }
}

/// Computes a node where it is assigned to, after all before it; returns when it ends.
double Timeline::time_node(std::size_t node) {
  ++steps_;
  const DeviceIndex device = assignment_[node];
  double ready = free_[CostTables::clock(device)];
  for (std::uint32_t value : tables_.sources(node)) {
    double& there = arrival_(value, device);
    if (there == kAbsent) {
      const DeviceIndex from = home(value);
      const CostTables::LinkIndex link = tables_.link(from, device);
      double& link_free = free_[tables_.clock(from, device)];
      link_free =
          std::max(arrival_(value, from), link_free) + tables_.transfer_seconds(value, link);
      if (trying_ && (value < position_ || value >= tables_.nodes())) {
        undo_.push_back({value, device});
      }
      there = link_free;
      sent_for_(value, device) = static_cast<std::uint32_t>(node);
    }
    ready = std::max(ready, there);
  }
  const double end = ready + tables_.seconds(node, device);
  free_[CostTables::clock(device)] = end;
  arrival_.fill_row(node, kAbsent);
  arrival_(node, device) = end;
  return end;
}

double Timeline::load(const Assignment& assignment) {
  assignment_ = assignment;
  sent_for_.fill(kNobody);
  start_walk();
  double makespan = 0;
  for (std::size_t i = 0; i < tables_.nodes(); ++i) {
    const double end = time_node(i);
    start_[i] = end - tables_.seconds(i, assignment_[i]);
    makespan = std::max(makespan, end);
  }
  compute_tails();
  start_walk();
  tails_from_ = 0;
  return makespan;
}

void Timeline::advance() {
  time_node(position_++);
}

void Timeline::compute_tails() {
  const std::size_t width = free_.size();
  DeviceTable<double> from_value(tables_.values(), tables_.devices(),
                                 0);  // from a value's arrival on
  std::fill_n(&free_tail_[tables_.nodes() * width], width, 0.0);
  std::fill(through_.begin(), through_.end(), 0.0);
  for (std::size_t i = tables_.nodes(); i-- > 0;) {
    const DeviceIndex device = assignment_[i];
    double* free_tail = &free_tail_[i * width];
    std::copy_n(free_tail + width, width, free_tail);
    tail_[i] = tables_.seconds(i, device) + std::max(free_tail[device], from_value(i, device));
    free_tail[device] = tail_[i];
    through_[i] = std::max(through_[i], start_[i] + tail_[i]);
    const auto sources = tables_.sources(i);
    for (std::size_t s = sources.size(); s-- > 0;) {
      const std::size_t value = sources[s];
      double& from_arrival = from_value(value, device);
      from_arrival = std::max(from_arrival, tail_[i]);
      if (sent_for_(value, device) != i) continue;
      const DeviceIndex from = home(value);
      const CostTables::LinkIndex link = tables_.link(from, device);
      double& link_tail = free_tail[tables_.clock(from, device)];
      const double seconds = tables_.transfer_seconds(value, link);
      const double tail = seconds + std::max(link_tail, from_arrival);
      transfer_tail_(value, device) = link_tail = tail;
      const double through = arrival_(value, device) - seconds + tail;
      through_[i] = std::max(through_[i], through);
      if (value < tables_.nodes()) through_[value] = std::max(through_[value], through);
      double& from_home = from_value(value, from);
      from_home = std::max(from_home, tail);
    }
  }
}

/// One past the last node that is, with the move or without, the first of its device to read the
/// value from the position on; `devices`: a bit for each that matters.
std::size_t Timeline::last_first_use(std::size_t value, std::uint64_t devices) {
  const auto users = tables_.users(value);
  std::uint64_t left_before = devices;
  std::uint64_t left_after = devices;
  std::size_t end = 0;
  const auto first = std::lower_bound(users.begin(), users.end(), position_);
  auto user = first;
  for (; user != users.end() && (left_before | left_after) != 0; ++user) {
    const std::uint64_t before = std::uint64_t{1} << assignment_[*user];
    const std::uint64_t after = std::uint64_t{1} << device_if_moved(*user);
    if ((left_before & before) == 0 && (left_after & after) == 0) continue;
    left_before &= ~before;
    left_after &= ~after;
    end = *user + std::size_t{1};
  }
  steps_ += (user - first) / kReadersPerStep;
  return end;
}

/// The first node from which on a move changes neither devices nor transfers.
std::size_t Timeline::end_of_change(std::span<const std::uint32_t> moved, DeviceIndex device) {
  std::size_t end = std::max<std::size_t>(tails_from_, moved.back() + std::size_t{1});
  const auto is_read_later = [&](std::uint32_t value) {
    const auto users = tables_.users(value);
    return !users.empty() && users.back() >= end;
  };
  for (std::uint32_t node : moved) {
    // All transfers of its result have another source device now.
    if (is_read_later(node)) end = std::max(end, last_first_use(node, ~std::uint64_t{0}));
    // Its sources may be sent to other devices than before, or for another node.
    for (std::uint32_t value : tables_.sources(node)) {
      if (!is_read_later(value)) continue;
      const bool known = value < position_ || value >= tables_.nodes();
      std::uint64_t devices = 0;
      for (const DeviceIndex d : {assignment_[node], device}) {
        const bool there = arrival_(value, d) != kAbsent;
        if (!known || !there) devices |= std::uint64_t{1} << d;
      }
      if (devices != 0) end = std::max(end, last_first_use(value, devices));
    }
  }
  return end;
}

/// The longest path through a value that is known before node `from` to a reader from there on.
double Timeline::path_through_value(std::size_t value, std::size_t from) {
  const auto users = tables_.users(value);
  const double* there = arrival_.row(value);
  const double at_home = there[home(value)];
  double longest = 0;
  std::size_t u = users.size();
  for (; u > 0 && users[u - 1] >= from; --u) {
    const std::uint32_t user = users[u - 1];
    const DeviceIndex device = assignment_[user];
    const double path = there[device] != kAbsent ? there[device] + tail_[user]
                                                 : at_home + transfer_tail_(value, device);
    longest = std::max(longest, path);
  }
  steps_ += static_cast<std::int64_t>(users.size() - u) / kReadersPerStep;
  return longest;
}

/// The longest path through the nodes, transfers and values that nodes from..to-1 affect.
double Timeline::path_through(std::size_t from, std::size_t to) {
  double longest = 0;
  const double* free_tail = &free_tail_[to * free_.size()];
  for (const double free : free_) longest = std::max(longest, free + *free_tail++);
  for (std::size_t v = from; v < to; ++v) longest = std::max(longest, path_through_value(v, to));
  for (const Undo& undo : undo_) {
    longest = std::max(longest, path_through_value(undo.value, to));
  }
  return longest;
}

double Timeline::try_move(std::span<const std::uint32_t> moved, DeviceIndex device, double below) {
  moved_.assign(moved.begin(), moved.end());
  to_ = device;
  ++mark_;
  for (std::uint32_t node : moved) moved_mark_[node] = mark_;
  end_ = end_of_change(moved, device);
  steps_ += static_cast<std::int64_t>(moved.size());
  saved_free_ = free_;
  saved_devices_.clear();
  for (std::uint32_t node : moved) {
    saved_devices_.push_back(assignment_[node]);
    assignment_[node] = device;
  }
  undo_.clear();
  trying_ = true;
  double result = 0;
  for (std::size_t i = position_; i < end_ && result < below; ++i) {
    result = std::max(result, time_node(i) + bounds_.after(i, assignment_[i]));
  }
  trying_ = false;
  if (result < below) result = std::max(result, path_through(position_, end_));
  free_ = saved_free_;
  for (const Undo& undo : undo_) arrival_(undo.value, undo.device) = kAbsent;
  for (std::size_t m = 0; m < moved_.size(); ++m) assignment_[moved_[m]] = saved_devices_[m];
  return result < below ? result : kNever;
}

void Timeline::accept() {
  for (std::uint32_t node : moved_) assignment_[node] = to_;
  tails_from_ = std::max(tails_from_, end_);
}

}  // namespace shunt
