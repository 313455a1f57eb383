#include "cuda/driver/thread.h"

namespace cuda_twin {
namespace {

thread_local ContextStack contexts;
thread_local bool inside = false;

}  // namespace

ContextStack& context_stack() {
  return contexts;
}

bool in_host_function() {
  return inside;
}

void run_host_function(void (*function)(void*), void* user) {
  inside = true;
  function(user);
  inside = false;
}

}  // namespace cuda_twin
