#pragma once

#include "backends/cuda/gpu/attention_inputs.h"

namespace shunt::cuda::gpu {

enum Span : u32 { kCausal, kSlidingWindow, kChunked, kBidirectional, kBidirectionalWindow };
struct PagedAttentionArgs {
  Common common;
  AttentionInputs in;
  TensorArg sequences, table;
  i64 window, block;
  u64 span;
};

}  // namespace shunt::cuda::gpu
