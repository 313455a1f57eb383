// The grammars of the family of moves, selections and comparisons, one for each opcode.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

// moves_mov.cpp
bool bind_mov(Binder& binder);

// moves_addresses.cpp
bool bind_cvta(Binder& binder);
bool bind_isspacep(Binder& binder);
bool bind_mapa(Binder& binder);

// moves_select.cpp
bool bind_selp(Binder& binder);
bool bind_slct(Binder& binder);

// moves_set.cpp
bool bind_setp(Binder& binder);
bool bind_set(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
