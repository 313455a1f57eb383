#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

enum Span : u32 { kCausal, kSlidingWindow, kChunked, kBidirectional, kBidirectionalWindow };
/// Numbers of a head's row of values, at most, and threads of a block.
inline constexpr int kMostHeadSize = 512;
inline constexpr int kAttentionThreads = 128;
struct PagedAttentionArgs {
  Common common;
  TensorArg q, k, v, sequences, table, mask, sinks, y;  ///< mask's and sinks' data may be null
  i64 window, block;
  u64 span;
  u64 f16_mask;
  float scale, max_bias, softcap;
};

}  // namespace shunt::cuda::gpu
