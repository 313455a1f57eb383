// What belongs to a host thread: its stack of contexts, and whether it executes a host function.
// Nothing here has a destructor, as calls may come while a thread ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_twin {

struct ContextStack {
  static constexpr std::size_t kMost = 128;
  std::uint64_t handles[kMost] = {};
  std::size_t depth = 0;
  std::uint64_t top() const { return depth == 0 ? 0 : handles[depth - 1]; }
};
ContextStack& context_stack();

bool in_host_function();
/// Calls the function; calls to the driver from inside are refused.
void run_host_function(void (*function)(void*), void* user);

}  // namespace cuda_twin
