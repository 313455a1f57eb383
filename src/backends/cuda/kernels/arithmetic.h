#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

enum ArithmeticOp : u32 { kAdd, kSub, kMul, kDiv };
struct ArithmeticArgs {
  Common common;
  TensorArg a, b, y;
  u64 op;
};

}  // namespace shunt::cuda::gpu
