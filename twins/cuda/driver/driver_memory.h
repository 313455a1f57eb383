// Device memory that the driver takes for itself. CUDA_TWIN_DRIVER_MEMORY turns it on.
#pragma once

#include "cuda/driver/state.h"

namespace cuda_twin {

/// Memory of a new context. CUDA_ERROR_OUT_OF_MEMORY if the device is full.
CUresult charge_context(Context& context);
/// Memory of the context and of the stacks of its threads.
void refund_context(Context& context);

/// The machine code of a module: as many bytes as its text has, in blocks of 2 MiB.
CUresult charge_code(Module& module, std::uint64_t bytes, std::string& log);
void refund_code(Module& module);

/// Stacks of `bytes` for each thread that the device can hold. They never shrink.
CUresult reserve_stacks(Context& context, std::uint64_t bytes);

}  // namespace cuda_twin
