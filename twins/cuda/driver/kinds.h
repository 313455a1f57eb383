// Operations that each kind of memory allows.
#pragma once

#include "cuda/memory/space.h"

namespace cuda_twin {

/// Memory that an address of the device names, and a host address does not.
inline bool is_of_device(MemoryKind kind) {
  return kind != MemoryKind::kPinned && kind != MemoryKind::kRegistered;
}
/// Memory that the host may touch at the same address.
inline bool is_of_host(MemoryKind kind) {
  return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered ||
         kind == MemoryKind::kManaged;
}

/// Host memory that was registered as read-only. Variables in .const are read-only for kernels
/// alone.
inline bool refuses_writes(const Extent& extent) {
  return extent.read_only && extent.kind == MemoryKind::kRegistered;
}

}  // namespace cuda_twin
