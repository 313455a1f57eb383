// The inputs that attention and paged attention share. The host and the kernels include this
// header.
#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// Types of keys and values.
enum CacheType : u32 { kCacheF32, kCacheF16, kCacheBF16, kCacheQ8_0, kCacheQ4_0 };

/// Threads of a block, and values of a head that it computes. Longer heads are computed in parts.
inline constexpr int kAttentionThreads = 128;
inline constexpr int kValuePart = 256;
/// Of attention and of paged attention.
struct AttentionInputs {
  TensorArg q, k, v, mask, sinks, y;  ///< the data of mask and sinks may be null
  u64 k_type, v_type;                 ///< CacheType
  u64 has_mask;                       ///< perhaps without elements: then its data is null, too
  u64 f16_mask;                       ///< F16, else F32
  float scale, max_bias, softcap;
};

}  // namespace shunt::cuda::gpu
