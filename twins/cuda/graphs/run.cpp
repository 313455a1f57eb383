#include "cuda/graphs/run.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "cuda/driver/state.h"
#include "cuda/driver/worker.h"
#include "cuda/graphs/exec.h"
#include "cuda/machine/random.h"
#include "cuda/races/work_order.h"

namespace cuda_twin {
namespace {

/// Visits all tasks, each after those that it waits for.
template <class Visit>
void each_in_order(const std::vector<Task>& tasks, const Visit& visit) {
  std::vector<std::size_t> missing;
  std::deque<std::size_t> ready;
  for (const Task& task : tasks) {
    if (task.before == 0) ready.push_back(missing.size());
    missing.push_back(task.before);
  }
  while (!ready.empty()) {
    const std::size_t at = ready.front();
    ready.pop_front();
    visit(at);
    for (const std::size_t later : tasks[at].after)
      if (--missing[later] == 0) ready.push_back(later);
  }
}

/// Waits name the record that is the last one now, so they come before the launch's own records.
void order_waits(GraphLaunch& launch, std::vector<std::vector<std::uint64_t>>& before) {
  for (std::size_t i = 0; i < launch.tasks.size(); ++i) {
    Task& task = launch.tasks[i];
    const auto* const given = task.work == nullptr ? nullptr : std::get_if<WaitWork>(task.work);
    if (given == nullptr) continue;
    WaitWork wait = *given;
    const std::lock_guard lock(wait.event->mutex);
    wait.record = wait.event->recorded;
    if (wait.event->number != 0) before[i].push_back(wait.event->number);
    task.work = &launch.events.emplace_back(std::move(wait));
  }
}

void order_record(GraphLaunch& launch, Task& task) {
  const auto* const given = task.work == nullptr ? nullptr : std::get_if<RecordWork>(task.work);
  if (given == nullptr) return;
  RecordWork record = *given;
  const std::lock_guard lock(record.event->mutex);
  record.record = ++record.event->recorded;
  record.event->pending.insert(record.record);
  record.event->number = task.number;
  task.work = &launch.events.emplace_back(std::move(record));
}

/// Chooses among the tasks that may run now.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : is_random_(seed != 0), random_(seed) {}

  std::size_t take(std::vector<std::size_t>& ready, const std::vector<Task>& tasks) {
    auto at = ready.begin();
    if (is_random_) {
      at += static_cast<std::ptrdiff_t>(random_.below(ready.size()));
    } else {
      at = std::ranges::min_element(ready);
    }
    if (must_wait(tasks[*at])) {
      const auto other =
          std::ranges::find_if(ready, [&](std::size_t i) { return !must_wait(tasks[i]); });
      if (other != ready.end()) at = other;
    }
    const std::size_t task = *at;
    ready.erase(at);
    return task;
  }

 private:
  /// An event that other tasks may lead to must not hold them up.
  static bool must_wait(const Task& task) {
    const auto* const wait = task.work == nullptr ? nullptr : std::get_if<WaitWork>(task.work);
    if (wait == nullptr) return task.work != nullptr && std::get_if<WaitValueWork>(task.work);
    const std::lock_guard lock(wait->event->mutex);
    return wait->event->pending.contains(wait->record);
  }
  bool is_random_;
  Random random_;
};

class Run {
 public:
  Run(Context& context, GraphLaunch& launch)
      : context_(context), launch_(launch), choice_(launch.seed) {}

  CUresult all() {
    for (const Task& task : launch_.tasks) {
      if (task.before == 0) ready_.push_back(missing_.size());
      missing_.push_back(task.before);
    }
    while (!ready_.empty() && result_ == CUDA_SUCCESS) {
      const std::size_t at = choice_.take(ready_, launch_.tasks);
      perform_task(launch_.tasks[at]);
      for (const std::size_t later : launch_.tasks[at].after)
        if (--missing_[later] == 0) ready_.push_back(later);
    }
    return result_;
  }

 private:
  void perform_task(const Task& task) {
    if (task.work == nullptr) return;
    Context& context = task.context == nullptr ? context_ : *task.context;
    if (launch_.seed != 0) delay(task.number);
    result_ = perform(context, *task.work, task.number);
    // A node of another device fails there and here.
    if (result_ != CUDA_SUCCESS && &context != &context_)
      fail_late(context, result_, "a node of a graph failed");
  }

  Context& context_;
  GraphLaunch& launch_;
  Choice choice_;
  std::vector<std::size_t> missing_, ready_;
  CUresult result_ = CUDA_SUCCESS;
};

}  // namespace

std::uint64_t order_launch(GraphLaunch& launch, std::uint64_t number) {
  std::vector<std::vector<std::uint64_t>> before(launch.tasks.size());
  WorkOrder& works = driver().space->works();
  for (std::size_t i = 0; i < launch.tasks.size(); ++i) {
    if (launch.tasks[i].before != 0) continue;
    before[i].push_back(number);
    if (launch.previous != nullptr) before[i].push_back(launch.previous->number);
  }
  order_waits(launch, before);
  std::uint64_t last = number;
  each_in_order(launch.tasks, [&](std::size_t at) {
    Task& task = launch.tasks[at];
    task.number =
        works.after(before[at], task.work == nullptr ? "graph" : name_of_work(*task.work));
    order_record(launch, task);
    last = task.number;
    for (const std::size_t later : task.after) before[later].push_back(task.number);
  });
  launch.turn->number = last;
  return last;
}

CUresult perform_graph(Context& context, GraphLaunch& launch, std::uint64_t number) {
  if (launch.previous != nullptr) launch.previous->wait(context.destroyed);
  launch.previous = nullptr;
  static_cast<void>(number);
  return Run(context, launch).all();
}

GraphLaunch::~GraphLaunch() {
  for (const Work& work : events) {
    const auto* const record = std::get_if<RecordWork>(&work);
    if (record == nullptr) continue;
    const std::lock_guard lock(record->event->mutex);
    record->event->pending.erase(record->record);
    record->event->changed.notify_all();
  }
  turn->end();
}

}  // namespace cuda_twin
