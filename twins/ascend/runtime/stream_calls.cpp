#include <algorithm>
#include <utility>

#include "ascend/capture/capture.h"
#include "ascend/include/acl/acl_runtime.h"
#include "ascend/profiles.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

using namespace ascend_twin;

namespace {

constexpr std::uint32_t kMostPriority = 7;
constexpr std::uint32_t kStreamFlags = 0x3F;

Status make_stream(aclrtStream* stream) {
  if (stream == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream's pointer is null");
  std::shared_ptr<Context> context;
  ASCEND_TWIN_TRY(current_context(&context));
  if (fault_is_due(Setting::kFailResource))
    return refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no stream, as the fault asks");
  ASCEND_TWIN_TRY(take_streams(*context->device, 1));
  const std::lock_guard lock(context->mutex);
  auto made = std::make_shared<Stream>(context);
  std::erase_if(context->streams, [](const auto& weak) { return weak.expired(); });
  context->streams.push_back(made);
  *stream = library().streams.add(std::move(made));
  return ACL_SUCCESS;
}

Status destroy_stream(aclrtStream handle, bool drop) {
  if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream is null");
  std::shared_ptr<Stream> stream;
  ASCEND_TWIN_TRY(stream_of(handle, &stream));
  ASCEND_TWIN_TRY(check_can_wait());
  ASCEND_TWIN_TRY(check_not_captured(*stream));
  const std::shared_ptr<Context> context = stream->context();
  if (context != nullptr && stream == context->default_stream)
    return refuse(ACL_ERROR_RT_PARAM_INVALID, "a default stream goes with its context");
  if (library().streams.remove(handle) == nullptr)
    return refuse(ACL_ERROR_RT_INVALID_HANDLE, "another thread destroys the stream");
  stream->close(drop);
  stream->join();
  if (context != nullptr) give_streams(*context->device, 1);
  return ACL_SUCCESS;
}

Status synchronize_stream(aclrtStream handle, std::int64_t milliseconds) {
  std::shared_ptr<Stream> stream;
  ASCEND_TWIN_TRY(stream_of(handle, &stream));
  ASCEND_TWIN_TRY(check_can_wait());
  ASCEND_TWIN_TRY(check_not_captured(*stream));
  count(ASCEND_TWIN_STREAM_WAITS);
  if (!stream->wait_for(stream->last_ticket(), milliseconds)) {
    return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                  "not done in " + std::to_string(milliseconds) + " ms");
  }
  const Status code = stream->take_error();
  return code == ACL_SUCCESS ? code : refuse(code, "work of the stream failed");
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) {
  return call("aclrtCreateStream", Need::kContext, [&] { return make_stream(stream); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  return call("aclrtCreateStreamWithConfig", Need::kContext, [&]() -> Status {
    if (priority > kMostPriority)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "priority " + std::to_string(priority));
    if ((flags & ~kStreamFlags) != 0)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "stream flags " + std::to_string(flags));
    return make_stream(stream);
  });
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return call("aclrtDestroyStream", Need::kRelease, [&] { return destroy_stream(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return call("aclrtDestroyStreamForce", Need::kRelease,
              [&] { return destroy_stream(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  return call("aclrtSynchronizeStream", Need::kContext,
              [&] { return synchronize_stream(stream, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t milliseconds) {
  return call("aclrtSynchronizeStreamWithTimeout", Need::kContext, [&]() -> Status {
    if (milliseconds == 0 || milliseconds < -1)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, std::to_string(milliseconds) + " ms");
    return synchronize_stream(stream, milliseconds);
  });
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  return call("aclrtStreamQuery", Need::kContext, [&]() -> Status {
    if (status == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the status's pointer is null");
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    ASCEND_TWIN_TRY(check_not_captured(*stream));
    *status = stream->is_idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    stream->hurry(stream->last_ticket());  // a program that asks again and again gets there
    return ACL_SUCCESS;
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
  return call("aclrtSetStreamFailureMode", Need::kContext, [&]() -> Status {
    if (mode > ACL_STOP_ON_FAILURE)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "failure mode " + std::to_string(mode));
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    const std::shared_ptr<Context> context = stream->context();
    const bool is_default = context != nullptr && stream == context->default_stream;
    if (is_default && profile() != nullptr && profile()->chip != k910b) {
      return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                    "the default stream of this chip has no failure mode");
    }
    const bool stop = mode == ACL_STOP_ON_FAILURE;
    if (stream->stops_at_failure && !stop)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the mode is set once");
    if (stop && stream->last_ticket() != 0)
      ASCEND_TWIN_TRY(object(ACL_ERROR_RT_PARAM_INVALID, "the stream has had work already"));
    stream->stops_at_failure = stop;
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
  return call("aclrtStreamGetId", Need::kContext, [&]() -> Status {
    if (id == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the number's pointer is null");
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    *id = stream->id();
    return ACL_SUCCESS;
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t* available) {
  return call("aclrtGetStreamAvailableNum", Need::kContext, [&]() -> Status {
    if (available == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the count's pointer is null");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    const std::uint32_t used = context->device->streams;
    const std::uint32_t most = profile() == nullptr ? 0 : profile()->streams;
    *available = most - std::min(used, most);
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamAbort(aclrtStream handle) {
  return call("aclrtStreamAbort", Need::kContext, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream is null");
    std::shared_ptr<Stream> stream;
    ASCEND_TWIN_TRY(stream_of(handle, &stream));
    ASCEND_TWIN_TRY(check_not_captured(*stream));
    stream->abort(ACL_ERROR_RT_STREAM_ABORT);
    return ACL_SUCCESS;
  });
}
