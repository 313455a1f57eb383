// shfl, of which shuffles.cpp has the grammar and the loops.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

bool bind_shfl(Binder& binder);
/// Adds: old forms without .sync are not for this module's .version and .target.
bool allow_without_sync(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
