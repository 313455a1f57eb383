#pragma once

#include "backends/cuda/gpu/attention_inputs.h"

namespace shunt::cuda::gpu {

struct AttentionArgs {
  Common common;
  AttentionInputs in;
};

}  // namespace shunt::cuda::gpu
