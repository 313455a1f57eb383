// rope's kernel in parts, for kernels that put turned heads somewhere else.
#pragma once

#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

/// Turns a head of `n` elements by what phase 0 of rope's kernel has found for its token; y may be
/// x.
void rotate_head(const Call& call, std::int64_t token, const float* x, std::int64_t n, float* y);

const CpuKernel& rope_kernel();

}  // namespace shunt::cpu
