// The grammars of the family of bit operations, one for each opcode.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

// bits_logic.cpp
bool bind_and(Binder& binder);
bool bind_or(Binder& binder);
bool bind_xor(Binder& binder);
bool bind_not(Binder& binder);
bool bind_cnot(Binder& binder);
bool bind_lop3(Binder& binder);

// bits_shifts.cpp
bool bind_shl(Binder& binder);
bool bind_shr(Binder& binder);
bool bind_shf(Binder& binder);
bool bind_szext(Binder& binder);
bool bind_bmsk(Binder& binder);

// bits_fields.cpp
bool bind_bfe(Binder& binder);
bool bind_bfi(Binder& binder);
bool bind_bfind(Binder& binder);
bool bind_brev(Binder& binder);
bool bind_clz(Binder& binder);
bool bind_popc(Binder& binder);
bool bind_fns(Binder& binder);

// bits_prmt.cpp
bool bind_prmt(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
