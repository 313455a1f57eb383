// The parts of the memory family: grammar (memory.cpp) and handlers.
#pragma once

#include <optional>

#include "cuda/instructions/spots.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// args[0] (or `more`, of a vector) are destinations, args[1] the base, immediate the offset.
/// Null if there is no such load: `type` is that in memory, `register_bits` those of the
/// destination as it was declared.
Handler load_handler(ptx::Type type, unsigned register_bits, unsigned vector, bool strong);
/// args[0] (or `more`) are sources, args[1] the base. `register_bytes` is Arg::bytes of a source.
Handler store_handler(ptx::Type type, unsigned register_bytes, unsigned vector, bool strong);

/// The modifiers of ld, st and cp.async that have no influence on results.
struct CacheHints {
  bool operation = false;  ///< .ca, .wb and so on
  bool priority = false;   ///< .L1::evict_last and so on
  bool level2 = false;     ///< .L2::evict_last and so on; then `priority`, too
  bool policy = false;     ///< .L2::cache_hint, with an operand
  bool prefetch = false;   ///< .L2::128B and so on
};
/// False after an error.
bool take_cache_priorities(Binder& binder, CacheHints& hints);
bool take_cache_policy(Binder& binder, CacheHints& hints);
bool take_prefetch_size(Binder& binder, CacheHints& hints);
/// Hints are for .global and generic addresses.
bool check_cache_hints(Binder& binder, const CacheHints& hints, ptx::Space space);
/// .cta, .cluster, .gpu, .sys: required if `required`.
bool take_scope(Binder& binder, bool required);
/// .global, .shared::cta and so on; kGeneric if there is none. Nothing after an error.
std::optional<ptx::Space> take_space(Binder& binder);
/// The address operand: sets the space, and gives base and offset.
std::optional<Binder::Address> take_address(Binder& binder, std::size_t index, MemoryExtra& extra);

// memory_async.cpp, memory_hints.cpp
bool bind_cp(Binder& binder);
bool bind_prefetch(Binder& binder);
bool bind_prefetchu(Binder& binder);
bool bind_createpolicy(Binder& binder);
bool bind_discard(Binder& binder);
bool bind_applypriority(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
