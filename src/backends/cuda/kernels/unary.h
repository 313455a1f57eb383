#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

enum UnaryOp : u32 {
  kAbs,
  kCeil,
  kClamp,
  kCos,
  kElu,
  kExp,
  kExpm1,
  kFloor,
  kGelu,
  kGeluErf,
  kGeluQuick,
  kHardsigmoid,
  kHardswish,
  kLeakyRelu,
  kLog,
  kNeg,
  kRelu,
  kRound,
  kScale,
  kSgn,
  kSigmoid,
  kSilu,
  kSin,
  kSoftplus,
  kSqr,
  kSqrt,
  kStep,
  kTanh,
  kTrunc,
  kXielu,
};
inline constexpr int kUnaryNumbers = 4;
struct UnaryArgs {
  Common common;
  TensorArg x, y;
  u64 op;
  double numbers[kUnaryNumbers];  ///< of the op, as its row in unary.cpp gives them
};

}  // namespace shunt::cuda::gpu
