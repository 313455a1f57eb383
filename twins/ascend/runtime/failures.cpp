#include "ascend/runtime/failures.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/resets.h"
#include "ascend/runtime/thread.h"

/// The argument of a callback.
struct aclrtExceptionInfo {
  ascend_twin::Failure failure;
};

namespace ascend_twin {
namespace {

constexpr std::uint32_t kNoAnswer = 0xFFFFFFFFU;

struct Callbacks {
  std::mutex mutex;
  aclrtExceptionInfoCallback only = nullptr;  ///< of aclrtSetExceptionInfoCallback: the last one
  std::vector<aclrtExceptionInfoCallback> registered;
};
Callbacks& callbacks() {
  static auto* all = new Callbacks;  // no destructor runs at exit
  return *all;
}

const AtReset drop_callbacks([] {
  const std::lock_guard lock(callbacks().mutex);
  callbacks().only = nullptr;
  callbacks().registered.clear();
});

thread_local const aclrtExceptionInfo* told_now = nullptr;

template <class Answer>
std::uint32_t answer(const char* function, const aclrtExceptionInfo* info, Answer value_of) {
  count_call(function);
  if (info == nullptr || info != told_now) {
    refuse(ACL_ERROR_INVALID_PARAM, "not the information of a callback that runs");
    return kNoAnswer;
  }
  return static_cast<std::uint32_t>(value_of(info->failure));
}

}  // namespace

void report_failure(const Failure& failure) {
  std::vector<aclrtExceptionInfoCallback> all;
  {
    const std::lock_guard lock(callbacks().mutex);
    all = callbacks().registered;
    if (callbacks().only != nullptr) all.push_back(callbacks().only);
  }
  aclrtExceptionInfo info{failure};
  told_now = &info;
  {
    const InCallback inside;
    for (const aclrtExceptionInfoCallback callback : all) callback(&info);
  }
  told_now = nullptr;
}

}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return call("aclrtSetExceptionInfoCallback", Need::kNothing, [&]() -> Status {
    const std::lock_guard lock(callbacks().mutex);
    callbacks().only = callback;
    return ACL_SUCCESS;
  });
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  return call("aclrtExceptionInfoCallbackRegister", Need::kNothing, [&]() -> Status {
    if (callback == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the callback is null");
    const std::lock_guard lock(callbacks().mutex);
    auto& registered = callbacks().registered;
    if (std::find(registered.begin(), registered.end(), callback) == registered.end())
      registered.push_back(callback);
    return ACL_SUCCESS;
  });
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  return call("aclrtExceptionInfoCallbackUnregister", Need::kNothing, [&]() -> Status {
    if (callback == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the callback is null");
    const std::lock_guard lock(callbacks().mutex);
    if (std::erase(callbacks().registered, callback) == 0)
      return refuse(ACL_ERROR_RT_PARAM_INVALID, "the callback is not registered");
    return ACL_SUCCESS;
  });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return answer("aclrtGetTaskIdFromExceptionInfo", info,
                [](const Failure& failure) { return failure.task_id; });
}
uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return answer("aclrtGetStreamIdFromExceptionInfo", info,
                [](const Failure& failure) { return failure.stream_id; });
}
uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return answer("aclrtGetThreadIdFromExceptionInfo", info,
                [](const Failure& failure) { return failure.thread_id; });
}
uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return answer("aclrtGetDeviceIdFromExceptionInfo", info,
                [](const Failure& failure) { return failure.device; });
}
uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return answer("aclrtGetErrorCodeFromExceptionInfo", info,
                [](const Failure& failure) { return failure.code; });
}
