// redux.sync, of which reductions.cpp has the grammar and the loops.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

bool bind_redux(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
