// aclInit to aclFinalize, and the twin's own reset.
#include <fstream>
#include <iterator>
#include <utility>

#include "ascend/include/acl/acl_runtime.h"
#include "ascend/include/ascend_twin.h"
#include "ascend/memory/space.h"
#include "ascend/profiles.h"
#include "ascend/resets.h"
#include "ascend/runtime/devices.h"
#include "ascend/runtime/stream.h"
#include "ascend/runtime/thread.h"
#include "ascend/strict/leaks.h"

namespace ascend_twin {
namespace {
[[maybe_unused]] const bool settings_read = (settings().read_environment(), true);

/// Whether the configuration asks for exception information; a file that is not there is 100003,
/// one that is no JSON object 100006.
Status read_configuration(const char* path, bool* exception_information) {
  constexpr Status kParseFile = 100006;
  *exception_information = false;
  if (path == nullptr || *path == '\0') return ACL_SUCCESS;
  std::ifstream file(path);
  if (!file) return refuse(ACL_ERROR_INVALID_FILE, std::string("no configuration ") + path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{' || text[last] != '}')
    return refuse(kParseFile, std::string(path) + " is no JSON object");
  *exception_information = text.find("\"lite_exception\"") != std::string::npos;
  return ACL_SUCCESS;
}

/// Strict mode: where several initialised the library, all reset their devices before the last
/// finalize.
Status check_uses() {
  if (library().references <= 1) return ACL_SUCCESS;
  std::uint64_t uses = live(ASCEND_TWIN_LIVE_CONTEXTS);
  {
    const std::lock_guard lock(library().mutex);
    for (const auto& device : library().devices) uses += device->references;
  }
  if (uses == 0) return ACL_SUCCESS;
  return object(ACL_ERROR_INTERNAL_ERROR, "finalised while others use the library: " +
                                              std::to_string(uses) + " uses of devices");
}

/// Calls of other threads are refused from the first moment on; an aclInit waits for the end.
Status finalise() {
  const Status leaks = check_leaks();
  {
    const std::lock_guard lock(library().mutex);
    library().initialised = false;
    library().references = 0;
  }
  drop_devices();
  return leaks;
}

/// Neither in a callback nor on the thread of a stream, which would end itself.
Status check_thread() {
  ASCEND_TWIN_TRY(check_no_callback());
  return check_can_wait();
}
}  // namespace
}  // namespace ascend_twin

using namespace ascend_twin;

aclError aclInit(const char* configPath) {
  return call("aclInit", Need::kNothing, [&]() -> Status {
    ASCEND_TWIN_TRY(check_thread());
    const std::lock_guard alone(library().lifecycle);
    const std::lock_guard lock(library().mutex);
    if (library().initialised) {
      ++library().references;
      return refuse(ACL_ERROR_REPEAT_INITIALIZE, "the library is initialised already");
    }
    bool exception_information = false;
    ASCEND_TWIN_TRY(read_configuration(configPath, &exception_information));
    library().exception_information = exception_information;
    library().references = 1;
    library().had_device = false;
    make_devices();
    library().initialised = true;
    return ACL_SUCCESS;
  });
}

aclError aclFinalize(void) {
  return call("aclFinalize", Need::kNothing, [&]() -> Status {
    ASCEND_TWIN_TRY(check_thread());
    const std::lock_guard alone(library().lifecycle);
    if (!is_initialised()) return refuse(ACL_ERROR_REPEAT_FINALIZE, "the library is finalised");
    ASCEND_TWIN_TRY(check_uses());
    return finalise();
  });
}

aclError aclFinalizeReference(uint64_t* left) {
  return call("aclFinalizeReference", Need::kNothing, [&]() -> Status {
    ASCEND_TWIN_TRY(check_thread());
    const std::lock_guard alone(library().lifecycle);
    {
      const std::lock_guard lock(library().mutex);
      if (!library().initialised) {
        if (left != nullptr) *left = 0;
        return refuse(ACL_ERROR_REPEAT_FINALIZE, "the library is finalised");
      }
      const std::uint32_t references = --library().references;
      if (left != nullptr) *left = references;
      if (references != 0) return ACL_SUCCESS;
    }
    return finalise();
  });
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  count_call("aclrtPeekAtLastError");
  return level == ACL_RT_THREAD_LEVEL ? this_thread().runtime_error : ACL_ERROR_INVALID_PARAM;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  count_call("aclrtGetLastError");
  if (level != ACL_RT_THREAD_LEVEL) return ACL_ERROR_INVALID_PARAM;
  return std::exchange(this_thread().runtime_error, ACL_SUCCESS);
}

aclError aclrtGetThreadLastTaskId(uint32_t* task) {
  return call("aclrtGetThreadLastTaskId", Need::kContext, [&]() -> Status {
    if (task == nullptr) return refuse(ACL_ERROR_INVALID_PARAM, "the task's pointer is null");
    *task = this_thread().last_task;
    return ACL_SUCCESS;
  });
}

const char* aclGetRecentErrMsg(void) {
  count_call("aclGetRecentErrMsg");
  Thread& thread = this_thread();
  if (thread.error_text.empty()) return nullptr;
  thread.error_text_given = std::exchange(thread.error_text, "");
  return thread.error_text_given.c_str();
}

const char* aclrtGetSocName(void) {
  count_call("aclrtGetSocName");
  return soc_name();
}

aclError aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  return call("aclrtGetVersion", Need::kNothing, [&]() -> Status {
    if (major == nullptr || minor == nullptr || patch == nullptr)
      return refuse(ACL_ERROR_INVALID_PARAM, "a pointer is null");
    *major = 1;
    *minor = 14;
    *patch = 0;
    return ACL_SUCCESS;
  });
}

const char* ascend_twin_version(void) {
  return "1.0";
}
bool ascend_twin_set(const char* name, const char* value) {
  return settings().set(name, value);
}
void ascend_twin_reset_settings(void) {
  settings().read_environment();
}
void ascend_twin_reset(void) {
  drop_devices();
  drop_registered();
  library().initialised = false;
  library().references = 0;
  library().exception_information = false;
  space().clear();
  reset_counts();
}
