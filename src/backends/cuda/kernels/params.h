// The parameters of each kernel, one struct each. Both compilers read them.
#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

struct BeginRunParams {
  Pointer<Run> run;
  Run value;
};

enum ArithmeticOp : u32 { kAdd, kSub, kMul, kDiv };
struct ArithmeticParams {
  Common common;
  TensorArg a, b, y;
  u64 op;
};

enum GatedOp : u32 { kGeglu, kGegluQuick, kReglu, kSwiglu };
struct GatedParams {
  Common common;
  TensorArg gate, up, y;  ///< without `up`, its data is null: gate has both halves
  u64 op;
  u64 swapped;  ///< the gate is the second half
};

struct RmsNormParams {
  Common common;
  TensorArg x, y;
  float eps;
};

struct GetRowsParams {
  Common common;
  TensorArg table, ids, y;
};

struct SetRowsParams {
  Common common;
  TensorArg rows, ids, y;
};

/// Threads of a block, and columns that a warp multiplies a row of weights with.
inline constexpr int kMatmulThreads = 128;
inline constexpr int kMatmulColumns = 8;
struct MatmulParams {
  Common common;
  TensorArg w, x, y;
};

/// Pairs that turn, at most: their frequencies are parameters, which have 4 KiB.
inline constexpr int kMostPairs = 256;
struct RopeParams {
  Common common;
  TensorArg x, positions, factors, y;  ///< the data of `factors` may be null
  u64 pairs;
  u64 adjacent;  ///< a pair is of neighbours, else half of the turned elements apart
  double magnitude;
  double frequencies[kMostPairs];
  u8 position_of[kMostPairs];
};

enum Span : u32 { kCausal, kSlidingWindow, kChunked, kBidirectional, kBidirectionalWindow };
/// Numbers of a head's row of values, at most, and threads of a block.
inline constexpr int kMostHeadSize = 512;
inline constexpr int kAttentionThreads = 128;
struct PagedAttentionParams {
  Common common;
  TensorArg q, k, v, sequences, table, mask, sinks, y;  ///< mask's and sinks' data may be null
  i64 window, block;
  u64 span;
  u64 f16_mask;
  float scale, max_bias, softcap;
};

}  // namespace shunt::cuda::gpu
