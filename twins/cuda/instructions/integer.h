// The grammars of the integer family, one for each opcode.
#pragma once

#include "cuda/instructions/level.h"
#include "cuda/program/binder.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

// integer_sums.cpp
bool bind_integer_add(Binder& binder);
bool bind_integer_sub(Binder& binder);
bool bind_integer_sad(Binder& binder);
bool bind_integer_neg(Binder& binder);
bool bind_integer_abs(Binder& binder);
bool bind_integer_min(Binder& binder);
bool bind_integer_max(Binder& binder);

// integer_products.cpp
bool bind_integer_mul(Binder& binder);
bool bind_integer_mad(Binder& binder);
bool bind_mul24(Binder& binder);
bool bind_mad24(Binder& binder);
bool bind_dp4a(Binder& binder);
bool bind_dp2a(Binder& binder);

// integer_quotients.cpp
bool bind_integer_div(Binder& binder);
bool bind_integer_rem(Binder& binder);

// integer_carry.cpp
bool bind_add_cc(Binder& binder);
bool bind_addc(Binder& binder);
bool bind_sub_cc(Binder& binder);
bool bind_subc(Binder& binder);
bool bind_mad_cc(Binder& binder);
bool bind_madc(Binder& binder);

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
