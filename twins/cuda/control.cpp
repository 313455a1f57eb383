#include "cuda/include/cuda_twin/control.h"

#include <string>

#include "common/message.h"
#include "cuda/call.h"
#include "cuda/counts.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/pools.h"
#include "cuda/driver/thread.h"
#include "cuda/driver/virtual_memory.h"
#include "cuda/instructions/opcodes.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

struct Total {
  std::uint64_t count = 0, bytes = 0;
};

/// Of allocations of contexts, or of host ranges.
Total device_total() {
  Driver& state = driver();
  const PoolUse pools = pool_use();
  const std::lock_guard lock(state.memory_mutex);
  Total total{pools.allocations, pools.bytes};
  for (const auto& [address, allocation] : state.allocations) {
    ++total.count;
    total.bytes += allocation.bytes;
  }
  return total;
}

Total host_total(bool registered) {
  Driver& state = driver();
  const std::lock_guard lock(state.memory_mutex);
  Total total;
  for (const auto& [address, range] : state.hosts) {
    if (range.registered != registered) continue;
    ++total.count;
    total.bytes += range.bytes;
  }
  return total;
}

using Count = std::uint64_t (*)();
// In the order of cuda_twin_live.
constexpr Count kLive[] = {
    [] { return device_total().count; },
    [] { return device_total().bytes; },
    [] { return host_total(false).count; },
    [] { return host_total(false).bytes; },
    [] { return host_total(true).count; },
    [] { return std::uint64_t{driver().modules.size()}; },
    [] { return std::uint64_t{driver().streams.size()}; },
    [] { return std::uint64_t{driver().events.size()}; },
    [] { return std::uint64_t{driver().graphs.size()}; },
    [] { return std::uint64_t{driver().graph_execs.size()}; },
    [] { return std::uint64_t{driver().contexts.size()}; },
    [] { return std::uint64_t{count_reserved_ranges()}; },
    [] { return std::uint64_t{driver().physicals.size()}; },
    [] { return std::uint64_t{driver().pools.size()}; },
};

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

const char* cuda_twin_version(void) {
  return "1.1";
}

int cuda_twin_set(const char* name, const char* value) {
  return settings().set(name, value) ? 1 : 0;
}

void cuda_twin_reset_settings(void) {
  settings().read_environment();
}

const char* cuda_twin_level(void) {
  return level_name();
}

void cuda_twin_reset(void) {
  reset_driver();
  context_stack().depth = 0;
  reset_counts();
  drop_findings();
}

uint64_t cuda_twin_count_live(cuda_twin_live which) {
  const auto index = static_cast<std::size_t>(which);
  return index < std::size(kLive) ? kLive[index]() : 0;
}

const char* cuda_twin_last_message(void) {
  return twin::last_message();
}

const char* cuda_twin_last_fault(void) {
  const auto context = driver().contexts.find(context_stack().top());
  if (context == nullptr) return "";
  thread_local std::string fault;  // the context may end while the caller reads
  const std::lock_guard lock(context->mutex);
  fault = context->fault;
  return fault.c_str();
}

}  // extern "C"
