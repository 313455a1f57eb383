#include "backend_support/stream_history.h"

#include <algorithm>

#include "shunt/message.h"

namespace shunt {

namespace {

/// Older ones are merged. Tasks between them count as failed from then on.
constexpr std::size_t kMostFailures = 1024;
/// Older ones are forgotten; only names of nodes in errors need them.
constexpr std::size_t kMostRuns = 1024;

}  // namespace

StreamHistory::StreamHistory(NativeStream& native, std::shared_ptr<DeviceHealth> health)
    : health_(std::move(health)), native_(&native) {
  runs_.reserve(kMostRuns);
}

std::uint64_t StreamHistory::begin() {
  const std::lock_guard lock(mutex_);
  return ++last_;
}

void StreamHistory::submitted(std::uint64_t task, const Binding& binding) {
  const std::lock_guard lock(mutex_);
  if (runs_.size() == kMostRuns) runs_.erase(runs_.begin());
  runs_.push_back({task, &binding});
}

void StreamHistory::add(std::uint64_t task, const Error& error) {
  if (failing()) {
    if (task < failures_.back().first) failures_.back() = {task, kOpen, error};
    return;
  }
  if (failures_.size() == kMostFailures) {
    failures_[1].first = failures_[0].first;
    failures_.erase(failures_.begin());
  }
  failures_.push_back({task, kOpen, error});
}

void StreamHistory::fail(std::uint64_t task, const Error& error) {
  const std::lock_guard lock(mutex_);
  add(task, error);
}

std::string StreamHistory::nodes_of(std::uint64_t task) const {
  if (native_ == nullptr) return {};
  std::string first;
  std::string last;
  for (const Run& run : runs_) {
    if (task != 0 && run.task != task) continue;
    last = native_->nodes_of(*run.binding);
    if (first.empty()) first = last;
  }
  return first == last ? first : first + " to " + last;
}

void StreamHistory::report(const NativeFailure& failure) {
  const Error error =
      Error(failure.error).with_node(nodes_of(failure.task)).with_device(health_->device());
  if (failure.hung) {
    health_->lose_hung(error);
  } else if (failure.lost) {
    health_->lose(error);
  }
  add(failure.task != 0 ? failure.task : confirmed_ + 1, error);
}

void StreamHistory::poll() {
  const std::lock_guard lock(mutex_);
  ask_vendor();
}

bool StreamHistory::ask_vendor() {
  const auto failure = native_ != nullptr ? native_->failure() : std::nullopt;
  if (failure) report(*failure);
  return failure.has_value();
}

void StreamHistory::poll(std::uint64_t waited, const Error& error) {
  const std::lock_guard lock(mutex_);
  if (ask_vendor()) return;
  // A known failure of an earlier task explains it.
  if (!failing() || waited < failures_.back().first) report({.error = error});
}

Status StreamHistory::status_at(std::uint64_t task) const {
  const std::lock_guard lock(mutex_);
  for (const Failure& failure : failures_) {
    if (failure.first <= task && task <= failure.last) return Error(failure.error);
  }
  return task <= confirmed_ ? ok() : health_->check();
}

void StreamHistory::confirm(std::uint64_t task) {
  const std::lock_guard lock(mutex_);
  confirmed_ = std::max(confirmed_, task);
  runs_.erase(runs_.begin(), std::ranges::upper_bound(runs_, confirmed_, {}, &Run::task));
}

bool StreamHistory::is_confirmed(std::uint64_t task) const {
  const std::lock_guard lock(mutex_);
  return task <= confirmed_;
}

bool StreamHistory::is_busy() {
  const std::lock_guard lock(mutex_);
  return native_ != nullptr && native_->is_busy();
}

void StreamHistory::settle() {
  const std::lock_guard lock(mutex_);
  if (failing()) failures_.back().last = last_;
  confirmed_ = last_;
  runs_.clear();
}

void StreamHistory::close() {
  const std::lock_guard lock(mutex_);
  native_ = nullptr;
}

void StreamClock::add(const Entry& entry) {
  const auto known = std::ranges::find(entries_, entry.history, &Entry::history);
  if (known == entries_.end()) {
    entries_.push_back(entry);
  } else {
    known->task = std::max(known->task, entry.task);
  }
}

Status StreamClock::status() const {
  for (const Entry& entry : entries_) SHUNT_TRY(entry.history->status_at(entry.task));
  return ok();
}

Status StreamClock::final_status() const {
  for (const Entry& entry : entries_) {
    if (!entry.history->is_confirmed(entry.task)) entry.history->poll();
  }
  SHUNT_TRY(status());
  for (const Entry& entry : entries_) entry.history->confirm(entry.task);
  return ok();
}

Status StreamClock::lost() const {
  for (const Entry& entry : entries_) {
    if (entry.history->is_confirmed(entry.task)) continue;
    entry.history->poll();
    SHUNT_TRY(entry.history->health().check());
  }
  return ok();
}

bool StreamClock::lose_busy() const {
  for (const Entry& entry : entries_) {
    if (entry.history->is_confirmed(entry.task) || !entry.history->is_busy()) continue;
    entry.history->health().lose_hung();
    return true;
  }
  return false;
}

}  // namespace shunt
