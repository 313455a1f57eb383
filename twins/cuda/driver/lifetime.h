// The end of contexts and of the whole driver.
#pragma once

#include "cuda/driver/state.h"

namespace cuda_twin {

/// A new context of the device, with its legacy stream. CUDA_ERROR_OUT_OF_MEMORY if the device is
/// full.
CUresult make_context(Device& device, unsigned flags, bool primary,
                      std::shared_ptr<Context>& context);
/// Ends its streams (queued work is dropped once the context has an error or `destroyed` is set),
/// frees its memory, modules, events, and forgets its handle.
void end_context(Context& context);
/// For cuda_twin_reset().
void reset_driver();

/// Memory that the context allocated. driver/allocations.cpp
void free_memory_of(Context& context);
/// Pinned and registered ranges of the context. driver/host_memory.cpp
void free_host_memory_of(Context& context);
/// driver/worker.cpp
void close_streams(Context& context);

}  // namespace cuda_twin
