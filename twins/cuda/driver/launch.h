// Launches: their checks, and the resources that a block takes.
#pragma once

#include <optional>

#include "cuda/driver/state.h"

namespace cuda_twin {

CUresult function_of(CUfunction handle, std::shared_ptr<Function>& function);

struct LaunchRequest {
  Dim3 grid, block, cluster;
  std::uint64_t shared = 0;
  bool cooperative = false;
  void** parameters = nullptr;
  void** extra = nullptr;
};
/// A kernel's work with a copy of its parameters, or the reason why a launch would be refused. Also
/// for nodes of graphs.
CUresult make_kernel_work(Context& context, const std::shared_ptr<Function>& function,
                          const LaunchRequest& request, KernelWork& work);

/// Threads of a block as the device's warps have them.
std::uint64_t threads_of(const Dim3& block);
/// Blocks of `threads` and `dynamic_shared` bytes that a multiprocessor holds at once.
int blocks_per_multiprocessor(const Device& device, const KernelInfo& kernel, std::uint64_t threads,
                              std::uint64_t dynamic_shared);
std::uint64_t max_threads_of(const KernelInfo& kernel);

}  // namespace cuda_twin
