// Memory of devices, and managed memory.
#include "cuda/call.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/pools.h"
#include "cuda/graphs/capture.h"

namespace cuda_twin {
namespace {

CUresult allocate_for(Context& context, std::uint64_t bytes, MemoryKind kind,
                      CUdeviceptr* address) {
  if (address == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "address is null");
  if (bytes == 0) return refuse(CUDA_ERROR_INVALID_VALUE, "0 bytes");
  CUDA_TWIN_TRY(refuse_unsafe_call());
  ExtentPtr extent;
  CUDA_TWIN_TRY(allocate(*context.device, &context, bytes, kind, extent));
  *address = extent->begin;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (free != nullptr) *free = free_bytes(*context.device);
    if (total != nullptr) *total = context.device->memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
    return allocate_for(context, bytes, MemoryKind::kDevice, address);
  });
}

CUresult cuMemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                         unsigned int elementBytes) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    constexpr size_t kPitch = 512;
    if (pitch == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "pitch is null");
    if (elementBytes != 4 && elementBytes != 8 && elementBytes != 16) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "elements have 4, 8 or 16 bytes");
    }
    if (width == 0 || height == 0 || width > INT32_MAX || height > SIZE_MAX / INT32_MAX / 2) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "width or height");
    }
    const size_t rounded = (width + kPitch - 1) / kPitch * kPitch;
    CUDA_TWIN_TRY(allocate_for(context, rounded * height, MemoryKind::kDevice, address));
    *pitch = rounded;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "flags: global or host");
    }
    return allocate_for(context, bytes, MemoryKind::kManaged, address);
  });
}

CUresult cuMemFree(CUdeviceptr address) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (address == 0) return CUDA_SUCCESS;
    CUDA_TWIN_TRY(refuse_unsafe_call());
    // Work that was submitted may use the memory.
    const std::uint64_t owner = owner_of(address);
    CUDA_TWIN_TRY(synchronize_with_owner(context, owner != 0 ? owner : pool_owner_of(address)));
    bool in_pool = false;
    CUDA_TWIN_TRY(free_pool_memory(address, in_pool));
    if (in_pool) return CUDA_SUCCESS;
    const ExtentPtr extent = driver().space->find(address);
    const bool managed = extent != nullptr && extent->kind == MemoryKind::kManaged;
    return release(address, managed ? MemoryKind::kManaged : MemoryKind::kDevice);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    const ExtentPtr extent = driver().space->find(address);
    if (extent == nullptr || !is_of_device(extent->kind)) {
      return refuse(CUDA_ERROR_NOT_FOUND, "no allocation has this address");
    }
    if (base != nullptr) *base = extent->begin;
    if (bytes != nullptr) *bytes = extent->bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
