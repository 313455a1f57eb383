#include "ascend/runtime/thread.h"

#include "ascend/settings.h"

namespace ascend_twin {

Library& library() {
  static auto* all = new Library;  // no destructor runs at exit
  return *all;
}

Thread& this_thread() {
  thread_local Thread thread;
  return thread;
}

bool is_initialised() {
  return library().initialised;
}

bool is_lost(const Context& context) {
  if (fault_is_due(Setting::kFailLost)) context.device->lost = true;
  return context.device->lost;
}

}  // namespace ascend_twin
