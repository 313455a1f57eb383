// Pinned and registered memory of the host.
#include "cuda/call.h"
#include "cuda/driver/host_access.h"
#include "cuda/driver/lifetime.h"
#include "cuda/driver/perform.h"
#include "cuda/graphs/capture.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

std::uint64_t value_of(const void* host) {
  return reinterpret_cast<std::uint64_t>(host);
}

CUresult pin(Context& context, void** host, size_t bytes, unsigned flags) {
  Driver& state = driver();
  if (host == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "host is null");
  if (bytes == 0 || (flags & ~kAllocFlags) != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes, or unknown flags");
  }
  CUDA_TWIN_TRY(refuse_unsafe_call());
  if (fault_is_due(Setting::kFailPinned)) {
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_PINNED");
  }
  Device* const charged = context.device->profile->integrated ? context.device : nullptr;
  if (charged != nullptr && !charge(*charged, bytes)) {
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the memory that device and host share is full");
  }
  const ExtentPtr extent =
      state.space->allocate(bytes, 4096, context.device->ordinal, MemoryKind::kPinned);
  if (extent == nullptr) {
    if (charged != nullptr) refund(*charged, bytes);
    return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory");
  }
  const std::lock_guard lock(state.memory_mutex);
  state.hosts[extent->begin] = {bytes, flags, false, context.id, charged};
  *host = extent->data;
  return CUDA_SUCCESS;
}

/// The range that holds an address, or null. Under Driver::memory_mutex.
std::map<std::uint64_t, HostRange>::iterator range_of(std::uint64_t address) {
  auto& hosts = driver().hosts;
  const auto next = hosts.upper_bound(address);
  if (next == hosts.begin()) return hosts.end();
  const auto at = std::prev(next);
  return address - at->first < at->second.bytes ? at : hosts.end();
}

bool overlaps(std::uint64_t begin, std::uint64_t bytes) {
  const auto& hosts = driver().hosts;
  const auto next = hosts.lower_bound(begin);
  if (next != hosts.end() && next->first - begin < bytes) return true;
  return range_of(begin) != hosts.end();
}

CUresult forget(std::uint64_t begin, bool registered, CUresult otherwise) {
  Driver& state = driver();
  HostRange range;
  {
    const std::lock_guard lock(state.memory_mutex);
    const auto at = state.hosts.find(begin);
    if (at == state.hosts.end() || at->second.registered != registered) {
      return refuse(otherwise, "no such range of the host begins there");
    }
    range = at->second;
    state.hosts.erase(at);
  }
  state.space->remove(begin);
  if (range.charged != nullptr) refund(*range.charged, range.bytes);
  return CUDA_SUCCESS;
}

/// Whether the host may read the first and the last byte of the range.
bool is_readable(std::uint64_t begin, std::uint64_t bytes) {
  std::byte ends[2];
  const HostPiece pieces[] = {{&ends[0], begin, 1}, {&ends[1], begin + bytes - 1, 1}};
  return gather_host(pieces);
}

}  // namespace

void free_host_memory_of(Context& context) {
  Driver& state = driver();
  std::vector<std::pair<std::uint64_t, bool>> mine;
  {
    const std::lock_guard lock(state.memory_mutex);
    for (const auto& [begin, range] : state.hosts) {
      if (range.context == context.id) mine.emplace_back(begin, range.registered);
    }
  }
  for (const auto& [begin, registered] : mine) {
    (void)forget(begin, registered, CUDA_ERROR_INVALID_VALUE);
  }
}

void forget_unmapped_host_memory() {
  Driver& state = driver();
  const std::lock_guard lock(state.memory_mutex);
  for (const auto& [begin, range] : state.hosts) {
    if (!range.registered) continue;
    if (!is_host_memory(begin, range.bytes) || !is_readable(begin, range.bytes)) {
      state.space->remove(begin);
    }
  }
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuMemHostAlloc(void** host, size_t bytes, unsigned int flags) {
  return call_in_context(__func__,
                         [&](Context& context) { return pin(context, host, bytes, flags); });
}

CUresult cuMemAllocHost(void** host, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) { return pin(context, host, bytes, 0); });
}

CUresult cuMemFreeHost(void* host) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (host == nullptr) return CUDA_SUCCESS;
    CUDA_TWIN_TRY(refuse_unsafe_call());
    CUDA_TWIN_TRY(synchronize_with_owner(context, owner_of(value_of(host))));
    return forget(value_of(host), false, CUDA_ERROR_INVALID_VALUE);
  });
}

CUresult cuMemHostRegister(void* host, size_t bytes, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    Driver& state = driver();
    const std::uint64_t begin = value_of(host);
    if (host == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "no memory, or unknown flags");
    }
    CUDA_TWIN_TRY(refuse_unsafe_call());
    if ((flags & CU_MEMHOSTREGISTER_IOMEMORY) != 0) {
      return refuse(CUDA_ERROR_NOT_PERMITTED, "the twin has no memory of other devices");
    }
    if (fault_is_due(Setting::kFailPinned)) {
      return refuse(CUDA_ERROR_OUT_OF_MEMORY, "CUDA_TWIN_FAIL_PINNED");
    }
    const std::lock_guard lock(state.memory_mutex);
    if (overlaps(begin, bytes)) {
      return refuse(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the range overlaps another");
    }
    const bool read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
    const HostAccess access = host_access(begin, bytes);
    if (state.space->find(begin) != nullptr || access == HostAccess::kNone) {
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "the range is no memory of the host, or the host may not read it");
    }
    if (access == HostAccess::kRead && !read_only) {
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    "the host may not write the range: it needs CU_MEMHOSTREGISTER_READ_ONLY");
    }
    if (state.space->adopt(host, bytes, context.device->ordinal, MemoryKind::kRegistered,
                           read_only) == nullptr) {
      return refuse(CUDA_ERROR_OUT_OF_MEMORY, "the range was not registered");
    }
    state.hosts[begin] = {bytes, flags, true, context.id, nullptr};
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* host) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    CUDA_TWIN_TRY(refuse_unsafe_call());
    CUDA_TWIN_TRY(synchronize_with_owner(context, owner_of(value_of(host))));
    return forget(value_of(host), true, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* address, void* host, unsigned int flags) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    Driver& state = driver();
    if (address == nullptr || flags != 0) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "address is null, or flags are not 0");
    }
    const std::lock_guard lock(state.memory_mutex);
    if (range_of(value_of(host)) == state.hosts.end()) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "the memory is neither pinned nor registered");
    }
    *address = value_of(host);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned int* flags, void* host) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    Driver& state = driver();
    if (flags == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "flags is null");
    const std::lock_guard lock(state.memory_mutex);
    const auto at = range_of(value_of(host));
    if (at == state.hosts.end() || at->second.registered) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "the memory is not pinned");
    }
    // With unified addresses all pinned memory is mapped.
    *flags = at->second.flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
