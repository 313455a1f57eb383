// Primary contexts: one a device, made when it is first retained.
#include "cuda/call.h"
#include "cuda/driver/lifetime.h"

namespace cuda_twin {
namespace {

/// The device's primary context no longer is; the caller ends it when no lock is held.
std::shared_ptr<Context> detach(Device& device) {
  std::shared_ptr<Context> context = std::move(device.primary);
  device.primary = nullptr;
  return context;
}

CUresult reset(Device& device) {
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(device.mutex);
    ended = detach(device);
    device.primary_flags = 0;
    device.primary_retained = 0;
  }
  if (ended != nullptr) end_context(*ended);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    if (context == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "context is null");
    CUDA_TWIN_TRY(device_of(device, found));
    const std::lock_guard lock(found->mutex);
    if (found->primary == nullptr) {
      CUDA_TWIN_TRY(make_context(*found, found->primary_flags, true, found->primary));
    }
    ++found->primary_retained;
    *context = found->primary->handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    std::shared_ptr<Context> ended;
    {
      const std::lock_guard lock(found->mutex);
      if (found->primary_retained == 0) {
        return refuse(CUDA_ERROR_INVALID_CONTEXT, "the primary context is not retained");
      }
      if (--found->primary_retained == 0) ended = detach(*found);
    }
    if (ended != nullptr) end_context(*ended);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    return reset(*found);
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags of a context");
    }
    const std::lock_guard lock(found->mutex);
    found->primary_flags = flags;
    if (found->primary != nullptr) found->primary->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    const std::lock_guard lock(found->mutex);
    if (flags != nullptr) *flags = found->primary_flags;
    if (active != nullptr) *active = found->primary != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
