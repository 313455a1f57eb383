#include "ascend/runtime/stream.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "ascend/runtime/event_state.h"
#include "ascend/runtime/failures.h"
#include "ascend/runtime/thread.h"
#include "ascend/strict/watch.h"
#include "common/arithmetic.h"

namespace ascend_twin {
namespace {

std::atomic<std::int32_t> stream_numbers{0};
std::atomic<std::uint64_t> tasks_executed{0};

/// Microseconds of events: of the host's clock, or a count of tasks.
std::uint64_t tick() {
  const std::uint64_t tasks = ++tasks_executed;
  if (setting_as<ClockKind>(Setting::kClock) == ClockKind::kTasks) return tasks;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

/// Splitmix64.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace

Stream::Stream(const std::shared_ptr<Context>& context)
    : context_(context),
      device_(context->device->index),
      id_(++stream_numbers),
      saturates_(context->device->saturates) {}

Status Stream::submit(TaskPointer task, std::uint64_t* ticket) {
  const std::shared_ptr<Context> context = context_.lock();
  if (context != nullptr && context->stopped != ACL_SUCCESS)
    return refuse(context->stopped, "the context takes no work since a task failed");
  std::shared_ptr<Recorder> recorder = this->recorder();
  // A stream joins a capture by waiting for an event that was recorded in it.
  if (recorder == nullptr && task->kind == Task::Kind::kWait) {
    const std::lock_guard lock(task->event->mutex);
    recorder = task->event->recorder.lock();
  }
  if (recorder != nullptr) return recorder->record(*this, std::move(task));
  std::shared_ptr<Watch> watch;
  ASCEND_TWIN_TRY(work_submitted(id_, *task, &watch));
  const std::uint64_t number = queue(std::move(task), std::move(watch));
  if (number == 0) return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the stream is being destroyed");
  if (ticket != nullptr) *ticket = number;
  this_thread().last_task = static_cast<std::uint32_t>(number);
  return ACL_SUCCESS;
}

std::uint64_t Stream::queue(TaskPointer task, std::shared_ptr<Watch> watch) {
  const std::lock_guard lock(mutex_);
  if (closing_) return 0;
  if (!started_) {
    // Detached: streams do not hold up the end of the process. Where the system has no thread left,
    // nothing was queued.
    std::thread([self = shared_from_this()] { self->work(); }).detach();
    started_ = true;
  }
  queue_.push_back(
      {std::move(task), submitted_ + 1, static_cast<std::uint32_t>(::gettid()), std::move(watch)});
  ++submitted_;
  changed_.notify_all();
  return submitted_;
}

bool Stream::take(Item& item) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !queue_.empty() || closing_; });
  if (queue_.empty()) return false;
  item = std::move(queue_.front());
  queue_.pop_front();
  return true;
}

void Stream::hold_back(const Item& item) {
  constexpr std::uint64_t kMostMicroseconds = 4000;
  const auto order = setting_as<Order>(Setting::kOrder);
  if (order == Order::kEager) return;
  std::unique_lock lock(mutex_);
  const auto urgent = [&] { return urgent_ >= item.ticket || dropped_ >= item.ticket || closing_; };
  if (order == Order::kLazy) {
    changed_.wait(lock, urgent);
    return;
  }
  const std::uint64_t random = mix(static_cast<std::uint64_t>(order) * 0x10001U +
                                   item.ticket * 64U + static_cast<std::uint64_t>(id_));
  if ((random & 1U) == 0) return;
  changed_.wait_for(lock, std::chrono::microseconds((random >> 8) % kMostMicroseconds), urgent);
}

void Stream::hang(const Item& item) {
  constexpr std::chrono::milliseconds kStep{1};
  std::unique_lock lock(mutex_);
  const auto ends = [&] { return closing_ || dropped_ >= item.ticket; };
  while (setting(Setting::kFailHang) != 0 && !changed_.wait_for(lock, kStep, ends)) {
  }
}

bool Stream::is_left_out(const Item& item) {
  if (item.task->kind == Task::Kind::kRecord) return false;  // somebody may wait for it
  const std::shared_ptr<Context> context = context_.lock();
  if (context != nullptr && context->stopped != ACL_SUCCESS) return true;
  const std::lock_guard lock(mutex_);
  return item.ticket <= dropped_;
}

Failure Stream::perform(const Item& item) {
  const auto task_id = static_cast<std::uint32_t>(item.ticket);
  if (is_left_out(item)) return {task_id, id_, device_, item.thread, ACL_SUCCESS};
  const Run run{this, device_, task_id, tick(), false};
  Status code = ACL_SUCCESS;
  const twin::DefaultArithmetic arithmetic;
  const bool is_work =
      item.task->kind != Task::Kind::kRecord && item.task->kind != Task::Kind::kWait;
  if (is_work && fault_is_due(Setting::kFailHang)) hang(item);
  try {
    code = work_begins(id_, *item.task, item.watch.get());
    if (code == ACL_SUCCESS) code = item.task->body(run);
  } catch (const std::bad_alloc&) {
    code = ACL_ERROR_RT_INTERNAL_ERROR;
  } catch (const std::exception& failure) {
    code = refuse(ACL_ERROR_RT_AICPU_EXCEPTION, item.task->name + ": " + failure.what());
  }
  count(ASCEND_TWIN_TASKS);
  if (is_work && fault_is_due(Setting::kFailLate) && code == ACL_SUCCESS)
    code = static_cast<Status>(setting(Setting::kLateCode));
  if (code != ACL_SUCCESS) {
    keep_error(code);
    const std::shared_ptr<Context> context = context_.lock();
    std::int32_t none = ACL_SUCCESS;
    if (stops_at_failure && context != nullptr)
      context->stopped.compare_exchange_strong(none, code);
  }
  return {task_id, id_, device_, item.thread, code};
}

void Stream::work() {
  this_thread().saturates = saturates_;
  this_thread().is_of_stream = true;
  Item item;
  while (take(item)) {
    hold_back(item);
    const Failure failure = perform(item);
    const bool failed = failure.code != ACL_SUCCESS;
    const auto callback = setting_as<CallbackTime>(Setting::kCallback);
    if (failed && callback == CallbackTime::kBefore) report_failure(failure);
    item.watch = nullptr;
    item.task = nullptr;  // its objects are released before others see its end
    {
      const std::lock_guard lock(mutex_);
      completed_ = item.ticket;
      changed_.notify_all();
    }
    if (failed && callback == CallbackTime::kAfter) report_failure(failure);
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool Stream::wait_for(std::uint64_t ticket, std::int64_t milliseconds) {
  hurry(ticket);
  std::unique_lock lock(mutex_);
  const auto done = [&] { return completed_ >= ticket; };
  if (milliseconds >= 0)
    return changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), done);
  changed_.wait(lock, done);
  return true;
}

std::uint64_t Stream::last_ticket() {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

bool Stream::is_idle() {
  const std::lock_guard lock(mutex_);
  return completed_ == submitted_;
}

void Stream::hurry(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (ticket <= urgent_) return;
  urgent_ = ticket;
  changed_.notify_all();
}

Status Stream::take_error() {
  const std::shared_ptr<Context> context = context_.lock();
  if (context != nullptr && context->stopped != ACL_SUCCESS) return context->stopped;
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, ACL_SUCCESS);
}

void Stream::keep_error(Status code) {
  const std::lock_guard lock(mutex_);
  error_ = code;
}

void Stream::close(bool drop) {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  if (drop) dropped_ = submitted_;
  changed_.notify_all();
}

void Stream::abort(Status code) {
  const std::lock_guard lock(mutex_);
  if (completed_ == submitted_) return;
  dropped_ = submitted_;
  error_ = code;
  changed_.notify_all();
}

bool Stream::is_dropping() {
  const std::lock_guard lock(mutex_);
  return dropped_ > completed_;
}

bool Stream::is_closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void Stream::join() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !started_ || ended_; });
  completed_ = submitted_;
  in_ledger_.reset();
  changed_.notify_all();
}

std::shared_ptr<Recorder> Stream::recorder() {
  const std::lock_guard lock(mutex_);
  return recorder_;
}

void Stream::set_recorder(std::shared_ptr<Recorder> recorder) {
  const std::lock_guard lock(mutex_);
  recorder_.swap(recorder);  // the old one goes without the lock
}

Status stream_of(aclrtStream handle, std::shared_ptr<Stream>* stream) {
  const std::shared_ptr<Context> current = this_thread().context.lock();
  if (current == nullptr)
    return refuse(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no current context");
  if (handle == nullptr) {
    *stream = current->default_stream;
    return ACL_SUCCESS;
  }
  *stream = library().streams.find(handle);
  if (*stream == nullptr)
    return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the stream is destroyed or none");
  if ((*stream)->context() != current)
    return refuse(ACL_ERROR_RT_STREAM_CONTEXT, "the stream belongs to another context");
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
