// Transfers of 8 x 8 matrices between shared memory and registers.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

bool bind_ldmatrix(Binder& binder);
bool bind_stmatrix(Binder& binder);
bool bind_movmatrix(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
