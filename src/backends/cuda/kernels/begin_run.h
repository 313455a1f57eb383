#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct BeginRunArgs {
  Pointer<Run> run;
  Run value;
};

}  // namespace shunt::cuda::gpu
