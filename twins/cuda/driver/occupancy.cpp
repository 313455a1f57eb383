#include <algorithm>

#include "cuda/call.h"
#include "cuda/driver/launch.h"
#include "cuda/driver/round_up.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kRegistersSm = 65536;
constexpr std::uint64_t kSharedGranule = 128;

CUresult blocks_of(Context& context, int* blocks, CUfunction handle, int threads,
                   std::uint64_t shared) {
  std::shared_ptr<Function> function;
  if (blocks == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the result is null");
  if (threads <= 0) return refuse(CUDA_ERROR_INVALID_VALUE, "a block without threads");
  CUDA_TWIN_TRY(function_of(handle, function));
  *blocks = blocks_per_multiprocessor(*context.device, *function->kernel,
                                      static_cast<std::uint64_t>(threads), shared);
  return CUDA_SUCCESS;
}

}  // namespace

std::uint64_t max_threads_of(const KernelInfo& kernel) {
  const std::uint64_t by_text = kernel.max_threads == 0 ? 1024 : kernel.max_threads;
  const std::uint64_t warps =
      kernel.registers == 0 ? 32 : kRegistersSm / (std::uint64_t{kernel.registers} * 32);
  return std::min({by_text, std::uint64_t{1024}, warps * 32});
}

int blocks_per_multiprocessor(const Device& device, const KernelInfo& kernel, std::uint64_t threads,
                              std::uint64_t dynamic_shared) {
  const Profile& profile = *device.profile;
  const std::uint64_t warps = round_up(threads, 32);
  const std::uint64_t shared = kernel.static_shared + dynamic_shared;
  if (threads == 0 || threads > max_threads_of(kernel) ||
      shared > static_cast<std::uint64_t>(profile.shared_optin)) {
    return 0;
  }
  std::uint64_t blocks =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(profile.blocks_sm),
                              static_cast<std::uint64_t>(profile.threads_sm) / warps);
  const std::uint64_t registers = round_up(kernel.registers, 8) * warps;
  if (registers > 0) blocks = std::min(blocks, kRegistersSm / registers);
  const std::uint64_t reserved = profile.major >= 8 ? 1024 : 0;
  const std::uint64_t each = round_up(shared, kSharedGranule) + reserved;
  if (each > 0) blocks = std::min(blocks, static_cast<std::uint64_t>(profile.shared_sm) / each);
  return static_cast<int>(blocks);
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamicShared) {
  return call_in_context(__func__, [&](Context& context) {
    return blocks_of(context, blocks, function, threads, dynamicShared);
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads, size_t dynamicShared,
                                                              unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
    }
    return blocks_of(context, blocks, function, threads, dynamicShared);
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction function,
                                          CUoccupancyB2DSize blockSizeToShared,
                                          size_t dynamicShared, int blockSizeLimit) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    std::shared_ptr<Function> found;
    if (minGridSize == nullptr || blockSize == nullptr) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "a result is null");
    }
    CUDA_TWIN_TRY(function_of(function, found));
    int best = 0;
    int best_blocks = 0;
    int limit = static_cast<int>(max_threads_of(*found->kernel));
    if (blockSizeLimit > 0) limit = std::min(limit, blockSizeLimit);
    for (int threads = limit; threads > 0; threads = (threads - 1) / 32 * 32) {
      const size_t shared =
          blockSizeToShared == nullptr ? dynamicShared : blockSizeToShared(threads);
      const int blocks = blocks_per_multiprocessor(*context.device, *found->kernel,
                                                   static_cast<std::uint64_t>(threads), shared);
      if (blocks * threads <= best * best_blocks) continue;
      best = threads;
      best_blocks = blocks;
    }
    *blockSize = best;
    *minGridSize = best_blocks * context.device->profile->multiprocessors;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicShared, CUfunction function,
                                                 int blocks, int threads) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    std::shared_ptr<Function> found;
    if (dynamicShared == nullptr || blocks <= 0 || threads <= 0) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "the result is null, or no blocks or threads");
    }
    CUDA_TWIN_TRY(function_of(function, found));
    std::uint64_t shared = static_cast<std::uint64_t>(context.device->profile->shared_optin);
    while (shared > 0 &&
           blocks_per_multiprocessor(*context.device, *found->kernel,
                                     static_cast<std::uint64_t>(threads), shared) < blocks) {
      shared -= std::min<std::uint64_t>(shared, kSharedGranule);
    }
    *dynamicShared = shared;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
