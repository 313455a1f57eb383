#pragma once

#include "backends/cuda/gpu/given_sources.h"

namespace shunt::cuda::gpu {

inline constexpr int kRecurrenceThreads = 256;
/// Elements of a row of the state that a lane keeps in registers. Longer rows stay in the result.
inline constexpr int kStatePerLane = 4;
struct RecurrenceArgs {
  Common common;
  TensorArg sources[6];  ///< those before `states`
  IdsArg ids;
  TensorArg states, ends, y;
  GivenSources given;
  i64 output_rows;  ///< of y: T at its maximum
  float scale;
};

}  // namespace shunt::cuda::gpu
