#include "support/thread_native.h"

#include "base/clock.h"

namespace shunt::test {

namespace {

/// Counts how often it was recorded, and how often that point was reached.
class ThreadNativeEvent final : public NativeEvent {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t recorded = 0;
    std::uint64_t reached = 0;
    double seconds = 0;
    bool wait(std::uint64_t until, std::chrono::milliseconds most) {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, most, [&] { return reached >= until; });
    }
    std::uint64_t last() {
      const std::lock_guard lock(mutex);
      return recorded;
    }
  };
  Result<bool> wait(std::chrono::milliseconds most) override {
    return state->wait(state->last(), most);
  }
  std::optional<Time> time() const override {
    const std::lock_guard lock(state->mutex);
    return Time{state->seconds, 0};
  }
  std::shared_ptr<State> state = std::make_shared<State>();
};

}  // namespace

ThreadNativeStream::ThreadNativeStream() : thread_([this] { work_on(); }) {}

ThreadNativeStream::~ThreadNativeStream() {
  stop();
}

void ThreadNativeStream::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ThreadNativeStream::work_on() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
    if (stopped_) return;
    const auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

void ThreadNativeStream::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void ThreadNativeStream::submit(std::uint64_t task, double, Work work) {
  push([this, task, work = std::move(work)] {
    const Status status = work();
    const std::lock_guard lock(mutex_);
    if (!status && !failure_) failure_ = {status.error(), task, is_loss(status.error())};
  });
}

Result<std::unique_ptr<NativeEvent>> ThreadNativeStream::create_event(bool) {
  return std::make_unique<ThreadNativeEvent>();
}

Status ThreadNativeStream::record(NativeEvent& event) {
  const auto state = static_cast<ThreadNativeEvent&>(event).state;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(state->mutex);
    number = ++state->recorded;
  }
  push([state, number] {
    const std::lock_guard lock(state->mutex);
    state->reached = number;
    state->seconds = steady_seconds();
    state->changed.notify_all();
  });
  return ok();
}

Result<bool> ThreadNativeStream::wait_for(NativeEvent& event) {
  const auto* known = dynamic_cast<ThreadNativeEvent*>(&event);
  if (known == nullptr) return false;
  push([this, state = known->state, until = known->state->last()] {
    const auto over = [this] {
      const std::lock_guard lock(mutex_);
      return stopped_;
    };
    while (!state->wait(until, std::chrono::milliseconds(1)) && !over()) {
    }
  });
  return true;
}

std::optional<NativeFailure> ThreadNativeStream::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status ThreadNativeStream::recover() {
  const std::lock_guard lock(mutex_);
  if (failure_ && failure_->lost) return Error(failure_->error);
  failure_.reset();
  return ok();
}

void ThreadNativeStream::lose(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = {error, 0, true};
    stopped_ = true;
  }
  changed_.notify_all();
}

}  // namespace shunt::test
