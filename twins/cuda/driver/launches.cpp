#include "cuda/call.h"
#include "cuda/driver/launch.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

CUresult launch(Context& context, Stream& stream, CUfunction handle, const LaunchRequest& request) {
  std::shared_ptr<Function> function;
  KernelWork work;
  CUDA_TWIN_TRY(function_of(handle, function));
  CUDA_TWIN_TRY(make_kernel_work(context, function, request, work));
  if (fault_is_due(Setting::kFailLaunch)) {
    return refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_TWIN_FAIL_LAUNCH");
  }
  return submit(stream, std::move(work));
}

/// What an attribute of a launch does here. Attributes that only give hints are accepted.
CUresult apply(const CUlaunchAttribute& attribute, LaunchRequest& request) {
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      request.cooperative = attribute.value.cooperative != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      request.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                         attribute.value.clusterDim.z};
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return refuse(CUDA_ERROR_NOT_SUPPORTED, "the twin does not have this launch attribute");
    default:
      break;
  }
  if (attribute.id >= CU_LAUNCH_ATTRIBUTE_IGNORE &&
      attribute.id <= CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    return CUDA_SUCCESS;
  }
  return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such launch attribute");
}

CUresult request_of(const CUlaunchConfig& config, LaunchRequest& request) {
  request.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
  request.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
  request.shared = config.sharedMemBytes;
  if (config.numAttrs > 0 && config.attrs == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the attributes are null");
  }
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    CUDA_TWIN_TRY(apply(config.attrs[i], request));
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                        unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                        unsigned int blockZ, unsigned int sharedBytes, CUstream stream,
                        void** parameters, void** extra) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    const LaunchRequest request{
        {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, {}, sharedBytes, false, parameters, extra};
    return launch(context, found, function, request);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return call_in_stream(__func__, config == nullptr ? nullptr : config->hStream,
                        [&](Context& context, Stream& found) -> CUresult {
                          LaunchRequest request;
                          if (config == nullptr) {
                            return refuse(CUDA_ERROR_INVALID_VALUE, "the configuration is null");
                          }
                          CUDA_TWIN_TRY(request_of(*config, request));
                          request.parameters = parameters;
                          request.extra = extra;
                          return launch(context, found, function, request);
                        });
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                                   unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                                   unsigned int blockZ, unsigned int sharedBytes, CUstream stream,
                                   void** parameters) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    const LaunchRequest request{{gridX, gridY, gridZ},
                                {blockX, blockY, blockZ},
                                {},
                                sharedBytes,
                                true,
                                parameters,
                                nullptr};
    return launch(context, found, function, request);
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) -> CUresult {
    if (function == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "function is null");
    return submit(found, HostWork{function, user});
  });
}

}  // extern "C"
