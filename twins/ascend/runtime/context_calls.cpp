#include <utility>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"

using namespace ascend_twin;

namespace {

Status context_of(aclrtContext handle, std::shared_ptr<Context>* context) {
  if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the context is null");
  *context = library().contexts.find(handle);
  if (*context == nullptr)
    return refuse(ACL_ERROR_RT_INVALID_HANDLE, "the context is destroyed or none");
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtCreateContext(aclrtContext* context, int32_t index) {
  return call("aclrtCreateContext", Need::kInitialised, [&]() -> Status {
    if (context == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the context's pointer is null");
    std::shared_ptr<Device> device;
    ASCEND_TWIN_TRY(find_device(index, &device));
    std::shared_ptr<Context> made;
    {
      const std::lock_guard lock(library().mutex);
      ASCEND_TWIN_TRY(check_not_finalised());
      ASCEND_TWIN_TRY(make_context(device, true, &made));
    }
    this_thread().context = made;
    *context = made.get();
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext handle) {
  return call("aclrtDestroyContext", Need::kInitialised, [&]() -> Status {
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(context_of(handle, &context));
    if (!context->is_explicit) {
      return refuse(ACL_ERROR_RT_PARAM_INVALID,
                    "a default context goes with the last aclrtResetDevice");
    }
    ASCEND_TWIN_TRY(check_can_wait());
    drop_context(context);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetCurrentContext(aclrtContext handle) {
  return call("aclrtSetCurrentContext", Need::kInitialised, [&]() -> Status {
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(context_of(handle, &context));
    this_thread().context = context;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* handle) {
  return call("aclrtGetCurrentContext", Need::kContext, [&]() -> Status {
    if (handle == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the context's pointer is null");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    *handle = context.get();
    return ACL_SUCCESS;
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return call("aclrtCtxGetCurrentDefaultStream", Need::kContext, [&]() -> Status {
    if (stream == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the stream's pointer is null");
    std::shared_ptr<Context> context;
    ASCEND_TWIN_TRY(current_context(&context));
    *stream = context->default_stream.get();
    return ACL_SUCCESS;
  });
}
