// Captured models: executed, listed, destroyed.
#include <cstdio>
#include <memory>

#include "ascend/capture/capture.h"
#include "ascend/include/acl/acl_capture.h"
#include "ascend/profiles.h"
#include "ascend/runtime/thread.h"
#include "ascend/strict/order.h"

namespace ascend_twin {
namespace {

Status model_of(aclmdlRI handle, std::shared_ptr<Model>* model) {
  if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the model is null");
  if (profile() == nullptr || !profile()->has_capture)
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip has no capture");
  *model = models().find(handle);
  if (*model != nullptr) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the model is destroyed or none");
}

/// Strict mode: replays of one model may not overlap.
Status check_alone(Model& model, const Stream& stream) {
  const std::int32_t last = model.stream.exchange(stream.id());
  if (model.running == 0 || last == stream.id() || is_before(last, stream.id())) return ACL_SUCCESS;
  return object(ACL_ERROR_RT_PARAM_INVALID,
                "a replay over itself: the model is at work in another stream");
}

Status submit(const std::shared_ptr<Model>& model, Stream& stream, std::uint64_t* ticket) {
  if (stream.device() != model->device->index)
    return refuse(ACL_ERROR_RT_MODEL_CONTEXT, "the model belongs to another device");
  ASCEND_TWIN_TRY(check_allocations(*model));
  ASCEND_TWIN_TRY(check_alone(*model, stream));
  return stream.submit(replay_of(model), ticket);
}

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

const char* name_of_kind(Task::Kind kind) {
  constexpr const char* kNames[] = {"kernel", "copy", "fill",  "host function",
                                    "record", "wait", "replay"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::shared_ptr<const Model::Tasks> tasks_of(Model& model) {
  const std::lock_guard lock(model.mutex);
  return model.tasks;
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream stream_handle) {
  return call("aclmdlRIExecuteAsync", Need::kContext, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(stream_handle, &stream));
    return submit(model, *stream, nullptr);
  });
}

aclError aclmdlRIExecute(aclmdlRI handle, int32_t timeout) {
  return call("aclmdlRIExecute", Need::kContext, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    if (timeout < -1 || timeout == 0)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(timeout) + " milliseconds");
    ASCEND_TWIN_TRY(check_can_wait());
    const auto stream = this_thread().context.lock()->default_stream;
    ASCEND_TWIN_TRY(check_not_captured(*stream));
    std::uint64_t ticket = 0;
    ASCEND_TWIN_TRY(submit(model, *stream, &ticket));
    count(ASCEND_TWIN_STREAM_WAITS);
    if (!stream->wait_for(ticket, timeout))
      return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the model is still at work");
    const Status code = stream->take_error();
    return code == ACL_SUCCESS ? code : refuse(code, "work of the model failed");
  });
}

aclError aclmdlRIAbort(aclmdlRI handle) {
  return call("aclmdlRIAbort", Need::kContext, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    ++model->aborts;
    return ACL_SUCCESS;
  });
}

aclError aclmdlRIDestroy(aclmdlRI handle) {
  return call("aclmdlRIDestroy", Need::kRelease, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    if (model->running != 0)
      return refuse(ACL_ERROR_RT_MODEL_RUNNING, "the model is queued or at work");
    models().remove(handle);
    for (const auto& group : model->groups) task_groups().remove(group.get());
    return ACL_SUCCESS;
  });
}

aclError aclmdlRIDebugPrint(aclmdlRI handle) {
  return call("aclmdlRIDebugPrint", Need::kContext, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    const auto tasks = tasks_of(*model);
    std::printf("captured model of %zu tasks, %u streams\n", tasks->size(), model->streams);
    for (const TaskPointer& task : *tasks)
      std::printf("  %s: %s\n", name_of_kind(task->kind), task->name.c_str());
    std::fflush(stdout);
    return ACL_SUCCESS;
  });
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI handle, const char* path, uint32_t /*flags*/) {
  return call("aclmdlRIDebugJsonPrint", Need::kContext, [&]() -> Status {
    std::shared_ptr<Model> model;
    ASCEND_TWIN_TRY(model_of(handle, &model));
    if (path == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the path is null");
    const File file(std::fopen(path, "w"), std::fclose);
    if (file == nullptr)
      return refuse(ACL_ERROR_INVALID_FILE, std::string(path) + " cannot be written");
    const auto tasks = tasks_of(*model);
    std::fputs("[", file.get());
    const char* separator = "";
    for (const TaskPointer& task : *tasks) {
      std::fprintf(file.get(), "%s\n  {\"kind\": \"%s\", \"name\": \"%s\"}", separator,
                   name_of_kind(task->kind), task->name.c_str());
      separator = ",";
    }
    if (std::fputs("\n]\n", file.get()) < 0)
      return refuse(ACL_ERROR_INVALID_FILE, std::string(path) + " cannot be written");
    return ACL_SUCCESS;
  });
}
