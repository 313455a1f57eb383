#include "cuda/graphs/params.h"

#include <utility>

#include "cuda/call.h"
#include "cuda/driver/copies.h"
#include "cuda/driver/launch.h"

namespace cuda_twin {
namespace {

CUresult no_params() {
  return refuse(CUDA_ERROR_INVALID_VALUE, "the parameters are null");
}

std::shared_ptr<Event> event_of(CUevent handle) {
  return driver().events.find(handle);
}

template <class EventWork>
CUresult event_node(CUevent handle, NewNode& node) {
  std::shared_ptr<Event> event = event_of(handle);
  if (event == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the handle is no event");
  node.context = event->context.lock();
  node.work = EventWork{std::move(event)};
  return CUDA_SUCCESS;
}

LaunchRequest request_of(const CUDA_KERNEL_NODE_PARAMS& params) {
  LaunchRequest request;
  request.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  request.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  request.shared = params.sharedMemBytes;
  request.parameters = params.kernelParams;
  request.extra = params.extra;
  return request;
}

constexpr std::uint64_t kMostFill = std::uint64_t{1} << 40;

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& params) {
  const bool element =
      params.elementSize == 1 || params.elementSize == 2 || params.elementSize == 4;
  if (!element || params.width == 0 || params.height == 0)
    return refuse(CUDA_ERROR_INVALID_VALUE,
                  "elements have 1, 2 or 4 bytes, and there is one at least");
  if (params.width > kMostFill / params.elementSize || params.height > kMostFill)
    return refuse(CUDA_ERROR_INVALID_VALUE, "more bytes than a device has");
  if (params.dst % params.elementSize != 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the address is not aligned to an element");
  if (params.height > 1 && params.pitch < params.width * params.elementSize)
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch is shorter than a row");
  return CUDA_SUCCESS;
}

}  // namespace

CUresult kernel_node(const CUDA_KERNEL_NODE_PARAMS* params, NewNode& node, const KernelWork* like) {
  if (params == nullptr) return no_params();
  if (params->func == nullptr && params->kern != nullptr)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin has functions of modules, no CUkernel");
  std::shared_ptr<Function> function;
  CUDA_TWIN_TRY(function_of(params->func, function));
  node.context = function->context.lock();
  if (node.context == nullptr || node.context->destroyed)
    return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the function's context was destroyed");
  KernelWork work;
  LaunchRequest request = request_of(*params);
  if (like != nullptr) {
    request.cooperative = like->cooperative;
    request.cluster = like->cluster;
  }
  CUDA_TWIN_TRY(make_kernel_work(*node.context, function, request, work));
  node.work = std::move(work);
  return CUDA_SUCCESS;
}

CUresult copy_node(const CUDA_MEMCPY3D* params, CUcontext context, NewNode& node) {
  if (params == nullptr) return no_params();
  CUDA_TWIN_TRY(context_of(context, node.context));
  CopyWork work;
  CUDA_TWIN_TRY(copy_of(params, work));
  if (work.row_bytes == 0 || work.rows == 0 || work.planes == 0)
    return refuse(CUDA_ERROR_INVALID_VALUE, "a node cannot copy 0 bytes");
  CUDA_TWIN_TRY(check_copy(work));
  node.work = std::move(work);
  return CUDA_SUCCESS;
}

CUresult fill_node(const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context, NewNode& node) {
  if (params == nullptr) return no_params();
  CUDA_TWIN_TRY(context_of(context, node.context));
  CUDA_TWIN_TRY(check_fill(*params));
  const std::uint64_t pitch = params->height > 1 ? params->pitch : 0;
  node.work = FillWork{params->dst,   params->value,  params->elementSize,
                       params->width, params->height, pitch};
  return CUDA_SUCCESS;
}

CUresult host_node(const CUDA_HOST_NODE_PARAMS* params, NewNode& node) {
  if (params == nullptr) return no_params();
  if (params->fn == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "the function is null");
  node.work = HostWork{params->fn, params->userData};
  return CUDA_SUCCESS;
}

CUresult record_node(CUevent event, NewNode& node) {
  return event_node<RecordWork>(event, node);
}

CUresult wait_node(CUevent event, NewNode& node) {
  return event_node<WaitWork>(event, node);
}

CUDA_MEMSET_NODE_PARAMS fill_params(const FillWork& work) {
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = work.to;
  params.pitch = work.pitch;
  params.value = work.value;
  params.elementSize = work.element_bytes;
  params.width = work.width;
  params.height = work.height;
  return params;
}

CUDA_MEMCPY3D copy_params(const CopyWork& work) {
  const auto type_of_side = [](CopyWork::Side side) {
    return side == CopyWork::Side::kHost     ? CU_MEMORYTYPE_HOST
           : side == CopyWork::Side::kDevice ? CU_MEMORYTYPE_DEVICE
                                             : CU_MEMORYTYPE_UNIFIED;
  };
  CUDA_MEMCPY3D params{};
  params.srcMemoryType = type_of_side(work.from_side);
  params.dstMemoryType = type_of_side(work.to_side);
  params.srcDevice = work.from;
  params.dstDevice = work.to;
  if (work.from_side == CopyWork::Side::kHost)
    params.srcHost = reinterpret_cast<const void*>(work.from);  // NOLINT(performance-no-int-to-ptr)
  if (work.to_side == CopyWork::Side::kHost)
    params.dstHost = reinterpret_cast<void*>(work.to);  // NOLINT(performance-no-int-to-ptr)
  if (work.rows > 1 || work.planes > 1) {
    params.srcPitch = work.from_pitch;
    params.dstPitch = work.to_pitch;
    params.srcHeight = work.from_pitch == 0 ? 0 : work.from_plane / work.from_pitch;
    params.dstHeight = work.to_pitch == 0 ? 0 : work.to_plane / work.to_pitch;
  }
  params.WidthInBytes = work.row_bytes;
  params.Height = work.rows;
  params.Depth = work.planes;
  return params;
}

}  // namespace cuda_twin
