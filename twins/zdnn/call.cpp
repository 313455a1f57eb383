#include "call.h"

#include <cstdio>
#include <cstdlib>

#include "counts.h"
#include "include/zdnn_twin.h"
#include "settings.h"

namespace zdnn_twin {
namespace {

thread_local const char* current_function = "";
thread_local char last_message[256] = "";

void keep(zdnn_status status, const char* reason) {
  std::snprintf(last_message, sizeof last_message, "%s: 0x%08X: %s", current_function,
                static_cast<unsigned>(status), reason);
}

[[noreturn]] void end_process() {
  std::fprintf(stderr, "zDNN twin, strict: %s\n", last_message);
  std::abort();
}

}  // namespace

void enter(const char* function) {
  current_function = function;
}

zdnn_status refuse(zdnn_status status, const char* reason) {
  keep(status, reason);
  return status;
}

zdnn_status misuse(zdnn_status status, const char* reason) {
  keep(status, reason);
  if (setting_as<Strict>(Setting::kStrict) == Strict::kAbort) end_process();
  return status;
}

zdnn_status object(zdnn_status status, const char* reason) {
  const auto strict = setting_as<Strict>(Setting::kStrict);
  if (strict == Strict::kOff) return ZDNN_OK;
  count(ZDNN_TWIN_OBJECTIONS);
  keep(status, reason);
  if (strict == Strict::kAbort) end_process();
  return status;
}

}  // namespace zdnn_twin

const char* zdnn_twin_last_message(void) {
  return zdnn_twin::last_message;
}
