#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

enum GatedOp : u32 { kGeglu, kGegluErf, kGegluQuick, kReglu, kSwiglu, kSwigluOai };
struct GatedArgs {
  Common common;
  TensorArg gate, up, y;  ///< without `up`, its data is null: gate has both halves
  u64 op;
  u64 swapped;         ///< the gate is the second half
  float alpha, limit;  ///< of kSwigluOai
};

}  // namespace shunt::cuda::gpu
