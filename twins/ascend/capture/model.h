// The result of a capture: a list of tasks that a stream executes as one, again and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascend/counts.h"
#include "ascend/runtime/handles.h"
#include "ascend/runtime/state.h"
#include "ascend/runtime/task.h"

namespace ascend_twin {

struct Model;

/// Tasks [begin, end) of a model, which an update replaces.
struct TaskGroup {
  std::weak_ptr<Model> model;
  std::vector<std::size_t> positions;
};

struct Model {
  using Tasks = std::vector<TaskPointer>;
  /// Memory that the tasks had when they were captured.
  struct Allocation {
    const void* address = nullptr;
    std::uint64_t number = 0;  ///< Space::number_at
    std::string what;
  };

  explicit Model(std::shared_ptr<Device> of) : device(std::move(of)) {}
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::shared_ptr<Device> device;
  std::uint32_t streams = 0;  ///< taken from the device's, until the model is destroyed
  std::mutex mutex;
  /// In the order of submission, which respects streams and events: a replay executes them one
  /// after another. A replay keeps the list that it was submitted with.
  std::shared_ptr<const Tasks> tasks = std::make_shared<Tasks>();
  std::vector<Allocation> allocations;
  std::vector<std::shared_ptr<TaskGroup>> groups;
  std::atomic<std::uint32_t> running{0};  ///< replays that are queued or at work
  std::atomic<std::int32_t> stream{0};    ///< number of the stream of the last one
  std::atomic<std::uint32_t> aborts{0};   ///< a replay ends when this changes
  InLedger<ASCEND_TWIN_LIVE_MODELS> in_ledger;

  /// One more of the device's streams; false if there is none left.
  bool take_stream();
  /// Of all tasks, as they are now. Under the mutex.
  void remember_allocations();
};

Handles<Model>& models();
Handles<TaskGroup>& task_groups();

/// A task that executes all tasks of the model as they are now.
TaskPointer replay_of(const std::shared_ptr<Model>& model);

/// Strict mode: all memory of the model is still that of the capture.
Status check_allocations(Model& model);

}  // namespace ascend_twin
