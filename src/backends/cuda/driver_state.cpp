#include "backends/cuda/driver_state.h"

#include <algorithm>

#include "backends/cuda/pause.h"
#include "base/clock.h"
#include "shunt/message.h"

namespace shunt::cuda {

Status ContextState::check_locked() const {
  const auto hung = std::ranges::find_if(users_, [](const auto& user) { return user->is_hung(); });
  if (hung == users_.end()) return ok();
  SHUNT_TRY((*hung)->check());
  return fail(ErrorCode::kDevice, "the device hangs");  // its error is about to be there
}

Status ContextState::check() const {
  const std::lock_guard lock(users_mutex_);
  return check_locked();
}

std::chrono::milliseconds ContextState::longest_timeout() const {
  const std::lock_guard lock(users_mutex_);
  std::chrono::milliseconds longest{0};
  for (const auto& user : users_) longest = std::max(longest, user->timeout());
  return longest;
}

Status ContextState::add(const std::shared_ptr<DeviceHealth>& health) {
  const std::lock_guard lock(users_mutex_);
  SHUNT_TRY(check_locked());
  users_.push_back(health);
  return ok();
}

void ContextState::remove(const std::shared_ptr<DeviceHealth>& health) {
  if (health->is_hung()) return;
  const std::lock_guard lock(users_mutex_);
  std::erase(users_, health);
}

void ContextState::add_stream(StreamHandle stream) {
  const std::lock_guard lock(streams_mutex_);
  streams_.push_back(stream);
}

void ContextState::remove_stream(StreamHandle stream) {
  const std::lock_guard lock(streams_mutex_);
  std::erase(streams_, stream);
}

Status ContextState::for_each_stream(const std::function<Status(StreamHandle)>& visit) const {
  const std::lock_guard lock(streams_mutex_);
  for (StreamHandle stream : streams_) SHUNT_TRY(visit(stream));
  return ok();
}

std::shared_lock<std::shared_mutex> ContextState::submission() {
  // Readers come first in this mutex, and would keep a thread that pauses them from its turn.
  for (int i = 0; pauses_ != 0; ++i) pause(i);
  return std::shared_lock(submission_mutex_);
}

ContextState::Pause::Pause(ContextState& state) : state_(state) {
  ++state_.pauses_;
  state_.submission_mutex_.lock();
}

ContextState::Pause::~Pause() {
  state_.submission_mutex_.unlock();
  --state_.pauses_;
}

bool DriverState::has_lost_within(std::chrono::milliseconds time) const {
  return losses_ != 0 &&
         steady_seconds() - last_loss_ < std::chrono::duration<double>(time).count();
}

void DriverState::count_loss() {
  last_loss_ = steady_seconds();
  ++losses_;
}

ContextState& DriverState::context(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  return contexts_[handle];
}

}  // namespace shunt::cuda
