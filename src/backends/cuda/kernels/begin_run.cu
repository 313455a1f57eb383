// The first kernel of each run: writes the sizes of the run to where the others read them.
#include "backends/cuda/gpu/tensors.h"
#include "backends/cuda/kernels/begin_run.h"

using namespace shunt::cuda::gpu;

// Asks whether the device completes work.
KERNEL void empty() {}

// A warp, so that a run's sizes come from host memory in one read.
KERNEL void begin_run(BeginRunArgs p) {
  Run& run = *p.run;
  if (p.ring) {
    const u32 number = *p.next;
    const RunSizes& sizes = p.ring[number % kRunsAhead];
    if (thread() < kDynamicDims) run.dims[thread()] = sizes.dims[thread()];
    warp_barrier();
    if (thread() != 0) return;
    *p.next = number + 1;
    run.task = sizes.task;
  } else {
    if (thread() != 0) return;
#pragma unroll
    for (int i = 0; i < kDynamicDims; ++i) run.dims[i] = p.sizes.dims[i];
    run.task = p.sizes.task;
  }
  run.stop = p.stop;
  run.record = p.record;
  run.stopped = *(const volatile u32*)p.stop;
}
