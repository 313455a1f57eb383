#pragma once

#include "backends/cuda/gpu/shared.h"

namespace shunt::cuda::gpu {

/// What differs between two runs of a segment.
struct RunSizes {
  i64 dims[kDynamicDims];
  u64 task;
};

/// The same for each run of a segment on a stream, if the stream has pinned memory.
struct BeginRunArgs {
  Pointer<Run> run;
  Pointer<u32> stop;
  Pointer<FaultRecord> record;
  Pointer<u32> next;       ///< of `ring`: a count in device memory
  Pointer<RunSizes> ring;  ///< pinned, of kRunsAhead; null: `sizes` counts
  RunSizes sizes;
};

/// The most runs that are submitted to a stream and not yet begun.
inline constexpr unsigned kRunsAhead = 512;

}  // namespace shunt::cuda::gpu
