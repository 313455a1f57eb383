#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Of one step: w = keep * w - rate * m / (sqrt(v * v_scale) + eps).
struct AdamwNumbers {
  float keep, rate, v_scale;
};
struct AdamwArgs {
  Common common;
  TensorArg w, m, v, rate, step;
  Pointer<AdamwNumbers> numbers;
  float beta1, beta2, eps, weight_decay;
};

struct SgdArgs {
  Common common;
  TensorArg w, gradient, rate;
  float weight_decay;
};

struct UpdateMomentArgs {
  Common common;
  TensorArg m, x;
  float beta, rest;  ///< rest is 1 - beta
  u64 squared;
};

}  // namespace shunt::cuda::gpu
