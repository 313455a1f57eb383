#include "ascend/call.h"

#include <mutex>

#include "ascend/runtime/thread.h"
#include "common/message.h"

namespace ascend_twin {
namespace {

std::mutex objection_mutex;
char last_objection[512] = "";

/// By the code's family.
const char* prefix_of(Status code) {
  const int family = code / 1000;
  if (family == 161 || family == 361 || family == 561) return "EZ9999";
  if (family == 107) return "EE1001";
  if (family == 207 || family == 507) return "EE9999";
  return "EH0001";
}

}  // namespace

void Answers::objected() {
  count(ASCEND_TWIN_OBJECTIONS);
}

Status refuse(Status code, const std::string& reason) {
  Calls::refuse(code, reason.c_str());
  this_thread().error_text = std::string(prefix_of(code)) + ": " + twin::last_message();
  const int family = code / 1000;
  if (family == 107 || family == 207 || family == 507) this_thread().runtime_error = code;
  return code;
}

Status object(Status code, const std::string& reason) {
  if (!is_strict()) return ACL_SUCCESS;
  {
    const std::lock_guard lock(objection_mutex);
    const std::size_t length = reason.copy(last_objection, sizeof last_objection - 1);
    last_objection[length] = '\0';
  }
  refuse(code, reason);
  return Calls::object(code, reason.c_str());
}

Status object_late(Status code, const std::string& reason) {
  return object(code, reason);
}

Status check_need(Need need) {
  if (need == Need::kNothing) return ACL_SUCCESS;
  ASCEND_TWIN_TRY(check_no_callback());
  if (!is_initialised()) return refuse(ACL_ERROR_UNINITIALIZE, "aclInit was not called");
  if (need == Need::kInitialised) return ACL_SUCCESS;
  const auto context = this_thread().context.lock();
  if (context == nullptr)
    return refuse(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no current context");
  const bool lost = is_lost(*context);  // counts the call
  if (lost && need != Need::kRelease)
    return refuse(ACL_ERROR_RT_LOST_HEARTBEAT, "the device is lost");
  return ACL_SUCCESS;
}

Status after_release(Status code) {
  const auto context = this_thread().context.lock();
  if (context == nullptr || !context->device->lost) return code;
  return refuse(ACL_ERROR_RT_LOST_HEARTBEAT, "the device is lost");
}

Status check_no_callback() {
  if (!this_thread().in_callback) return ACL_SUCCESS;
  return object(ACL_ERROR_RT_PARAM_INVALID, "a callback calls the library");
}

Status check_can_wait() {
  if (!this_thread().is_of_stream) return ACL_SUCCESS;
  return refuse(ACL_ERROR_RT_PARAM_INVALID,
                "a callback waits for streams, on the thread of one of them");
}

}  // namespace ascend_twin

const char* ascend_twin_last_message(void) {
  return twin::last_message();
}

const char* ascend_twin_last_objection(void) {
  return ascend_twin::last_objection;
}
