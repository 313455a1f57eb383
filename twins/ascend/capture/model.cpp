#include "ascend/capture/model.h"

#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/resets.h"

namespace ascend_twin {
namespace {

/// While it lives, the model may not be destroyed.
struct Running {
  explicit Running(std::shared_ptr<Model> of) : model(std::move(of)) { ++model->running; }
  ~Running() { --model->running; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  const std::shared_ptr<Model> model;
};

const AtReset drop_models([] {
  models().clear();
  task_groups().clear();
});

}  // namespace

Model::~Model() {
  device->streams -= streams;
}

bool Model::take_stream() {
  const std::uint32_t most = profile() == nullptr ? 0 : profile()->streams;
  std::uint32_t alive = device->streams;
  do {
    if (alive >= most) return false;
  } while (!device->streams.compare_exchange_weak(alive, alive + 1));
  ++streams;
  return true;
}

void Model::remember_allocations() {
  allocations.clear();
  for (const TaskPointer& task : *tasks) {
    for (const Extent& extent : task->extents) {
      if (extent.bytes == 0) continue;
      if (const std::uint64_t number = space().number_at(extent.address); number != 0)
        allocations.push_back({extent.address, number, task->name + ", " + extent.what});
    }
  }
}

Handles<Model>& models() {
  static auto* all = new Handles<Model>;  // no destructor runs at exit
  return *all;
}

Handles<TaskGroup>& task_groups() {
  static auto* all = new Handles<TaskGroup>;  // no destructor runs at exit
  return *all;
}

TaskPointer replay_of(const std::shared_ptr<Model>& model) {
  auto task = std::make_shared<Task>();
  task->kind = Task::Kind::kReplay;
  task->name = "aclmdlRIExecuteAsync";
  std::shared_ptr<const Model::Tasks> tasks;
  {
    const std::lock_guard lock(model->mutex);
    tasks = model->tasks;
  }
  if (is_strict()) {
    for (const TaskPointer& of_model : *tasks)
      task->extents.insert(task->extents.end(), of_model->extents.begin(), of_model->extents.end());
  }
  const std::uint32_t aborts = model->aborts;
  task->body = [running = std::make_shared<Running>(model), tasks, aborts](const Run& run) {
    count(ASCEND_TWIN_REPLAYS);
    Run of_task = run;
    of_task.is_replay = true;
    Status last = ACL_SUCCESS;
    for (const TaskPointer& of_model : *tasks) {
      if (running->model->aborts != aborts)
        return refuse(ACL_ERROR_RT_MODEL_ABORT_NORMAL, "the model was told to stop");
      if (const Status code = of_model->body(of_task); code != ACL_SUCCESS) last = code;
    }
    return last;
  };
  return task;
}

Status check_allocations(Model& model) {
  if (!is_strict()) return ACL_SUCCESS;
  const std::lock_guard lock(model.mutex);
  for (const Model::Allocation& allocation : model.allocations) {
    if (space().number_at(allocation.address) == allocation.number) continue;
    ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID,
                           "a replay over freed memory: " + allocation.what +
                               " was in allocation " + std::to_string(allocation.number)));
  }
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
