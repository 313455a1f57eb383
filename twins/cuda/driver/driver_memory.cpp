#include "cuda/driver/driver_memory.h"

#include <algorithm>

#include "cuda/call.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

constexpr std::uint64_t kContextBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kDriverBlock = std::uint64_t{2} << 20;  // unit of its allocations

bool is_on() {
  return setting(Setting::kDriverMemory) != 0;
}

std::uint64_t blocks(std::uint64_t bytes) {
  return (bytes + kDriverBlock - 1) / kDriverBlock * kDriverBlock;
}

CUresult take(Device& device, std::uint64_t bytes, const char* what) {
  if (charge(device, bytes)) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_OUT_OF_MEMORY,
                std::string(what) + ": " + std::to_string(bytes) + " bytes do not fit into " +
                    std::to_string(free_bytes(device)) + " free bytes of the device");
}

}  // namespace

CUresult charge_context(Context& context) {
  if (!is_on()) return CUDA_SUCCESS;
  CUDA_TWIN_TRY(take(*context.device, kContextBytes, "the context"));
  context.own_bytes = kContextBytes;
  return CUDA_SUCCESS;
}

void refund_context(Context& context) {
  const std::lock_guard lock(context.mutex);
  for (std::uint64_t* const bytes : {&context.own_bytes, &context.stack_bytes}) {
    if (*bytes != 0) refund(*context.device, *bytes);
    *bytes = 0;
  }
}

CUresult charge_code(Module& module, std::uint64_t bytes, std::string& log) {
  if (!is_on()) return CUDA_SUCCESS;
  const CUresult taken = take(*module.device, blocks(bytes), "the module's code");
  if (taken != CUDA_SUCCESS) {
    log = "out of memory for the module's code";
    return taken;
  }
  module.code_bytes = blocks(bytes);
  return CUDA_SUCCESS;
}

void refund_code(Module& module) {
  if (module.code_bytes != 0) refund(*module.device, module.code_bytes);
  module.code_bytes = 0;
}

CUresult reserve_stacks(Context& context, std::uint64_t bytes) {
  if (!is_on()) return CUDA_SUCCESS;
  const Profile& profile = *context.device->profile;
  const std::uint64_t threads = static_cast<std::uint64_t>(profile.threads_sm) *
                                static_cast<std::uint64_t>(profile.multiprocessors);
  const std::uint64_t wanted = blocks(std::min(bytes, context.device->memory_bytes) * threads);
  const std::lock_guard lock(context.mutex);
  if (wanted <= context.stack_bytes) return CUDA_SUCCESS;
  // The new pool replaces the old one.
  if (context.stack_bytes != 0) refund(*context.device, context.stack_bytes);
  const CUresult taken = take(*context.device, wanted, "the stacks of a kernel");
  if (taken == CUDA_SUCCESS) {
    context.stack_bytes = wanted;
  } else if (context.stack_bytes != 0 && !charge(*context.device, context.stack_bytes)) {
    context.stack_bytes = 0;  // another thread took it meanwhile
  }
  return taken;
}

}  // namespace cuda_twin
