// Captures: from Begin to End, and task groups.
#include "ascend/capture/capture.h"
#include "ascend/capture/updates.h"
#include "ascend/include/acl/acl_capture.h"
#include "ascend/profiles.h"
#include "ascend/runtime/thread.h"
#include "ascend/support.h"

namespace ascend_twin {
namespace {

Status check_chip() {
  if (profile() != nullptr && profile()->has_capture) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip has no capture");
}

Status check_groups() {
  ASCEND_TWIN_TRY(check_chip());
  if (profile()->chip != k310p || unknown("task groups on 310P") != 0) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this chip's driver has no task groups");
}

Status capturing(aclrtStream handle, std::shared_ptr<Stream>* stream,
                 std::shared_ptr<Capture>* capture) {
  ASCEND_TWIN_TRY(stream_of(handle, stream));
  *capture = Capture::of(**stream);
  if (*capture != nullptr) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the stream is not being captured");
}

Status check_mode(aclmdlRICaptureMode mode) {
  if (mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED)
    return ACL_SUCCESS;
  return refuse(ACL_ERROR_INVALID_PARAM, "mode of capture " + std::to_string(mode));
}

}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode mode) {
  return call("aclmdlRICaptureBegin", Need::kContext, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the default stream");
    ASCEND_TWIN_TRY(check_mode(mode));
    ASCEND_TWIN_TRY(check_chip());
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    if (stream == this_thread().context.lock()->default_stream)
      return refuse(ACL_ERROR_INVALID_PARAM, "the default stream");
    return Capture::begin(stream, static_cast<Capture::Mode>(mode));
  });
}

aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI* model) {
  return call("aclmdlRICaptureEnd", Need::kContext, [&]() -> Status {
    if (handle == nullptr || model == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the stream or the model's pointer is null");
    *model = nullptr;
    ASCEND_TWIN_TRY(check_chip());
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Capture> capture;
    ASCEND_TWIN_TRY(capturing(handle, &stream, &capture));
    if (!capture->is_origin(*stream))
      return refuse(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture began on another stream");
    if (capture->mode() != Capture::Mode::kRelaxed &&
        capture->thread() != std::this_thread::get_id()) {
      return refuse(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "another thread began the capture");
    }
    std::shared_ptr<Model> made;
    ASCEND_TWIN_TRY(capture->end(&made));
    for (const auto& group : made->groups) task_groups().add(group);
    *model = models().add(std::move(made));
    count(ASCEND_TWIN_CAPTURES);
    return ACL_SUCCESS;
  });
}

aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus* status,
                                aclmdlRI* model) {
  return call("aclmdlRICaptureGetInfo", Need::kContext, [&]() -> Status {
    if (status == nullptr || model == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    ASCEND_TWIN_TRY(check_chip());
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    const auto capture = Capture::of(*stream);
    *model = capture == nullptr ? nullptr : capture->model();
    *status = capture == nullptr    ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
              : capture->is_valid() ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                    : ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
    return ACL_SUCCESS;
  });
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  return call("aclmdlRICaptureThreadExchangeMode", Need::kInitialised, [&]() -> Status {
    if (mode == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the mode's pointer is null");
    ASCEND_TWIN_TRY(check_mode(*mode));
    ASCEND_TWIN_TRY(check_chip());
    const std::int32_t before = this_thread().capture_mode;
    this_thread().capture_mode = *mode;
    *mode = static_cast<aclmdlRICaptureMode>(before);
    return ACL_SUCCESS;
  });
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream handle) {
  return call("aclmdlRICaptureTaskGrpBegin", Need::kContext, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream is null");
    ASCEND_TWIN_TRY(check_groups());
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Capture> capture;
    ASCEND_TWIN_TRY(capturing(handle, &stream, &capture));
    return capture->begin_group(*stream);
  });
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream handle, aclrtTaskGrp* group) {
  return call("aclmdlRICaptureTaskGrpEnd", Need::kContext, [&]() -> Status {
    if (handle == nullptr || group == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the stream or the group's pointer is null");
    ASCEND_TWIN_TRY(check_groups());
    std::shared_ptr<Stream> stream;
    std::shared_ptr<Capture> capture;
    ASCEND_TWIN_TRY(capturing(handle, &stream, &capture));
    std::shared_ptr<TaskGroup> made;
    ASCEND_TWIN_TRY(capture->end_group(*stream, &made));
    *group = made.get();
    return ACL_SUCCESS;
  });
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream handle, aclrtTaskGrp group) {
  return call("aclmdlRICaptureTaskUpdateBegin", Need::kContext, [&]() -> Status {
    if (handle == nullptr || group == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "the stream or the group is null");
    ASCEND_TWIN_TRY(check_groups());
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    const auto found = task_groups().find(group);
    if (found == nullptr || found->model.expired())
      return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the group is none of a live model");
    if (stream->recorder() != nullptr)
      return refuse(ACL_ERROR_RT_TASK_GROUP_STATUS, "the stream is capturing or updating");
    stream->set_recorder(std::make_shared<Update>(found));
    return ACL_SUCCESS;
  });
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream handle) {
  return call("aclmdlRICaptureTaskUpdateEnd", Need::kContext, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream is null");
    ASCEND_TWIN_TRY(check_groups());
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    const auto update = std::dynamic_pointer_cast<Update>(stream->recorder());
    if (update == nullptr)
      return refuse(ACL_ERROR_RT_TASK_GROUP_STATUS, "no update was begun on this stream");
    stream->set_recorder(nullptr);
    return update->end();
  });
}
