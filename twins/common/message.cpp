#include "common/message.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace twin {
namespace {
thread_local const char* current_function = "";
thread_local char message[256] = "";
}  // namespace

void enter(const char* function) {
  current_function = function;
}

void keep_message(CodeStyle style, std::int64_t code, const char* reason) {
  if (style == CodeStyle::kHex) {
    std::snprintf(message, sizeof message, "%s: 0x%08" PRIX32 ": %s", current_function,
                  static_cast<std::uint32_t>(code), reason);
  } else {
    std::snprintf(message, sizeof message, "%s: %" PRId64 ": %s", current_function, code, reason);
  }
}

const char* last_message() {
  return message;
}

void end_process(const char* twin) {
  std::fprintf(stderr, "%s twin, strict: %s\n", twin, message);
  std::abort();
}

}  // namespace twin
