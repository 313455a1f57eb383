#include <cstring>

#include "cuda/call.h"
#include "cuda/driver/driver_memory.h"
#include "cuda/driver/host_access.h"
#include "cuda/driver/launch.h"

namespace cuda_twin {
namespace {

struct Try {
  const Device& device;
  const KernelInfo& kernel;
  const Function& function;
  const LaunchRequest& request;
};

bool exceeds(const Dim3& dim, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  return dim.x > x || dim.y > y || dim.z > z;
}
bool has_zero(const Dim3& dim) {
  return dim.x == 0 || dim.y == 0 || dim.z == 0;
}
std::uint64_t size_of(const Dim3& dim) {
  return std::uint64_t{dim.x} * dim.y * dim.z;
}

CUresult check_sizes(const Try& launch) {
  const Dim3& grid = launch.request.grid;
  const Dim3& block = launch.request.block;
  if (has_zero(grid) || has_zero(block)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "a grid or block of 0");
  }
  if (exceeds(grid, 2147483647, 65535, 65535)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the grid exceeds 2147483647 x 65535 x 65535");
  }
  if (exceeds(block, 1024, 1024, 64) || size_of(block) > 1024) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the block exceeds 1024 threads");
  }
  const std::uint64_t most = max_threads_of(launch.kernel);
  if (size_of(block) > most) {
    return refuse(CUDA_ERROR_INVALID_VALUE, launch.kernel.function.name + " takes at most " +
                                                std::to_string(most) + " threads");
  }
  const auto& required = launch.kernel.required_threads;
  const bool given = required[0] != 0;
  if (given && (block.x != required[0] || block.y != std::max(required[1], 1U) ||
                block.z != std::max(required[2], 1U))) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the block is not the one of .reqntid");
  }
  return CUDA_SUCCESS;
}

CUresult check_resources(const Try& launch) {
  const std::uint64_t threads = (size_of(launch.request.block) + 31) / 32 * 32;
  if (threads * launch.kernel.registers > 65536) {
    return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                  std::to_string(launch.kernel.registers) + " registers a thread are too many");
  }
  const std::uint64_t fixed = launch.kernel.static_shared;
  const std::uint64_t dynamic = launch.request.shared;
  const auto allowed = static_cast<std::uint64_t>(launch.function.dynamic_shared.load());
  const auto plain = static_cast<std::uint64_t>(launch.device.profile->shared_block);
  if (dynamic <= allowed || dynamic + fixed <= plain) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE,
                std::to_string(dynamic) + " bytes of dynamic shared memory exceed the function's " +
                    std::to_string(std::max(allowed, plain - std::min(fixed, plain))));
}

CUresult check_cooperative(const Try& launch) {
  if (!launch.request.cooperative) return CUDA_SUCCESS;
  const int each = blocks_per_multiprocessor(launch.device, launch.kernel,
                                             size_of(launch.request.block), launch.request.shared);
  const std::uint64_t most = static_cast<std::uint64_t>(each) *
                             static_cast<std::uint64_t>(launch.device.profile->multiprocessors);
  if (size_of(launch.request.grid) <= most) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
                "the device holds " + std::to_string(most) + " blocks at once");
}

CUresult check_cluster(const Try& launch) {
  Dim3 cluster = launch.request.cluster;
  const auto& required = launch.kernel.cluster;
  if (required[0] != 0 && size_of(cluster) == 1) {
    cluster = {required[0], std::max(required[1], 1U), std::max(required[2], 1U)};
  }
  if (has_zero(cluster)) return refuse(CUDA_ERROR_INVALID_VALUE, "a cluster of 0");
  if (size_of(cluster) == 1) return CUDA_SUCCESS;
  if (launch.device.sm() < 90) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the device has no clusters");
  }
  const Dim3& grid = launch.request.grid;
  if (size_of(cluster) > 8 || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 ||
      grid.z % cluster.z != 0) {
    return refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters do not fit into the grid");
  }
  return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin executes no clusters of several blocks");
}

bool take(std::byte* to, const void* from, std::uint64_t bytes) {
  return from != nullptr && read_host(to, reinterpret_cast<std::uint64_t>(from), bytes);
}

CUresult copy_parameters(const KernelInfo& kernel, void** parameters,
                         std::vector<std::byte>& bytes) {
  if (parameters == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the kernel has parameters, the launch none");
  }
  std::vector<HostPiece> pieces;
  pieces.reserve(kernel.parameters.size());
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const KernelInfo::Parameter& parameter = kernel.parameters[i];
    pieces.push_back({bytes.data() + parameter.offset,
                      reinterpret_cast<std::uint64_t>(parameters[i]), parameter.bytes});
  }
  if (gather_host(pieces)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE, "a parameter is no memory of the host");
}

/// The list of `extra`: pairs of a name and a value up to CU_LAUNCH_PARAM_END.
CUresult copy_buffer(const KernelInfo& kernel, void** extra, std::vector<std::byte>& bytes) {
  constexpr int kMostPairs = 16;
  const void* buffer = nullptr;
  const std::size_t* size = nullptr;
  int at = 0;
  for (; at < kMostPairs && extra[2 * at] != CU_LAUNCH_PARAM_END; ++at) {
    void* const value = extra[2 * at + 1];
    if (extra[2 * at] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = value;
    } else if (extra[2 * at] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const std::size_t*>(value);
    } else {
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown name in `extra`");
    }
  }
  if (at == kMostPairs || buffer == nullptr || size == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "`extra` has no buffer, size or end");
  }
  if (*size < kernel.parameter_bytes) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the parameters have " +
                                                std::to_string(kernel.parameter_bytes) +
                                                " bytes, the buffer " + std::to_string(*size));
  }
  if (take(bytes.data(), buffer, kernel.parameter_bytes)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE, "the buffer of parameters is no memory of the host");
}

CUresult fill_parameters(const KernelInfo& kernel, const LaunchRequest& request,
                         std::vector<std::byte>& bytes) {
  if (request.parameters != nullptr && request.extra != nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "both parameters and `extra` are given");
  }
  bytes.assign(kernel.parameter_bytes, std::byte{0});
  if (kernel.parameters.empty()) return CUDA_SUCCESS;
  return request.extra != nullptr ? copy_buffer(kernel, request.extra, bytes)
                                  : copy_parameters(kernel, request.parameters, bytes);
}

}  // namespace

std::uint64_t threads_of(const Dim3& block) {
  return size_of(block);
}

CUresult function_of(CUfunction handle, std::shared_ptr<Function>& function) {
  function = driver().functions.find(handle);
  if (function != nullptr) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_HANDLE, "the handle is no function");
}

CUresult make_kernel_work(Context& context, const std::shared_ptr<Function>& function,
                          const LaunchRequest& request, KernelWork& work) {
  if (function->context.lock().get() != &context) {
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "function and stream have different contexts");
  }
  const Try launch{*context.device, *function->kernel, *function, request};
  CUDA_TWIN_TRY(check_sizes(launch));
  CUDA_TWIN_TRY(check_resources(launch));
  CUDA_TWIN_TRY(check_cluster(launch));
  CUDA_TWIN_TRY(check_cooperative(launch));
  CUDA_TWIN_TRY(fill_parameters(*function->kernel, request, work.parameters));
  CUDA_TWIN_TRY(reserve_stacks(context, function->kernel->local_bytes));
  work.function = function;
  work.grid = request.grid;
  work.block = request.block;
  work.cluster = request.cluster;
  work.dynamic_shared = static_cast<std::uint32_t>(request.shared);
  work.cooperative = request.cooperative;
  return CUDA_SUCCESS;
}

}  // namespace cuda_twin
