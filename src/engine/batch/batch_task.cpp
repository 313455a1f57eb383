#include "engine/batch/batch_task.h"

#include <chrono>

namespace shunt {

void BatchSignal::wait(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return set_; });
  set_ = false;
}

void BatchTask::push(BatchEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  arrived_.notify_all();
}

void BatchTask::end(BatchResult result) noexcept {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::move(result);
  }
  arrived_.notify_all();
}

std::size_t BatchTask::unread() const {
  const std::lock_guard lock(mutex_);
  return events_.size();
}

std::optional<BatchEvent> BatchTask::take(bool wait) {
  std::optional<BatchEvent> event;
  {
    std::unique_lock lock(mutex_);
    if (wait) arrived_.wait(lock, [this] { return ended_ || end_ || !events_.empty(); });
    if (!events_.empty()) {
      event = std::move(events_.front());
      events_.pop_front();
    } else if (end_ && !ended_) {
      event.emplace().end = std::move(end_);
      ended_ = true;
    } else {
      return std::nullopt;
    }
  }
  arrived_.notify_all();
  signal_->set();  // it may have paused for want of a reader
  return event;
}

void BatchTask::cancel() {
  cancelled_.store(true);
  signal_->set_cancelled();
}

BatchStream::~BatchStream() {
  task_->cancel();
}

std::optional<BatchEvent> BatchStream::next() {
  return task_->take(true);
}

std::optional<BatchEvent> BatchStream::poll() {
  return task_->take(false);
}

void BatchStream::cancel() {
  task_->cancel();
}

}  // namespace shunt
