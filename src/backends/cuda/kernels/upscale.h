#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

enum UpscaleMode : u32 { kNearest, kBilinear, kBicubic };
struct UpscaleArgs {
  Common common;
  TensorArg x, y;
  u64 mode;
  u64 align_corners, antialias;
};

}  // namespace shunt::cuda::gpu
