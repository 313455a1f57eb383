#include "ascend/capture/updates.h"

#include "ascend/memory/space.h"

namespace ascend_twin {

Status Update::record(Stream& /*stream*/, TaskPointer task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  return ACL_SUCCESS;
}

Status Update::end() {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Model> model = group_->model.lock();
  if (model == nullptr)
    return refuse(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "the group's model is destroyed");
  const std::vector<std::size_t>& positions = group_->positions;
  if (tasks_.size() != positions.size()) {
    return refuse(ACL_ERROR_RT_MODEL_UPDATE_FAILED, std::to_string(tasks_.size()) +
                                                        " tasks for a group of " +
                                                        std::to_string(positions.size()));
  }
  const std::lock_guard of_model(model->mutex);
  auto tasks = std::make_shared<Model::Tasks>(*model->tasks);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    TaskPointer& old = (*tasks)[positions[i]];
    if (old->name != tasks_[i]->name) {
      return refuse(ACL_ERROR_RT_MODEL_UPDATE_FAILED,
                    tasks_[i]->name + " cannot replace " + old->name);
    }
    old = tasks_[i];
  }
  model->tasks = std::move(tasks);
  model->remember_allocations();
  return ACL_SUCCESS;
}

}  // namespace ascend_twin
