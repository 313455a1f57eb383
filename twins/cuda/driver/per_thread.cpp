#include "cuda/driver/per_thread.h"

#include <cstring>

// Last: it changes names.
#include "cuda/driver/old_forms.h"

namespace cuda_twin {
namespace {

thread_local bool of_thread = false;

struct DefaultStreamOfThread {
  DefaultStreamOfThread() { of_thread = true; }
  DefaultStreamOfThread(const DefaultStreamOfThread&) = delete;
  DefaultStreamOfThread& operator=(const DefaultStreamOfThread&) = delete;
  ~DefaultStreamOfThread() { of_thread = false; }
};

template <auto function>
struct PerThread;
template <class... Arguments, CUresult (*function)(Arguments...)>
struct PerThread<function> {
  static CUresult call(Arguments... arguments) {
    const DefaultStreamOfThread scope;
    return function(arguments...);
  }
};

struct Form {
  const char* symbol;
  void* address;
};
// clang-format off
#define CUDA_TWIN_FORM(symbol) {#symbol, reinterpret_cast<void*>(&PerThread<&(symbol)>::call)},
const Form kForms[] = {
    CUDA_TWIN_FORM(cuMemcpy)
    CUDA_TWIN_FORM(cuMemcpyHtoD_v2)
    CUDA_TWIN_FORM(cuMemcpyDtoH_v2)
    CUDA_TWIN_FORM(cuMemcpyDtoD_v2)
    CUDA_TWIN_FORM(cuMemcpyPeer)
    CUDA_TWIN_FORM(cuMemcpy2D_v2)
    CUDA_TWIN_FORM(cuMemcpy2DUnaligned_v2)
    CUDA_TWIN_FORM(cuMemcpy3D_v2)
    CUDA_TWIN_FORM(cuMemcpy3DPeer)
    CUDA_TWIN_FORM(cuMemsetD8_v2)
    CUDA_TWIN_FORM(cuMemsetD16_v2)
    CUDA_TWIN_FORM(cuMemsetD32_v2)
    CUDA_TWIN_FORM(cuMemsetD2D8_v2)
    CUDA_TWIN_FORM(cuMemsetD2D16_v2)
    CUDA_TWIN_FORM(cuMemsetD2D32_v2)
    CUDA_TWIN_FORM(cuMemcpyAsync)
    CUDA_TWIN_FORM(cuMemcpyHtoDAsync_v2)
    CUDA_TWIN_FORM(cuMemcpyDtoHAsync_v2)
    CUDA_TWIN_FORM(cuMemcpyDtoDAsync_v2)
    CUDA_TWIN_FORM(cuMemcpyPeerAsync)
    CUDA_TWIN_FORM(cuMemcpy2DAsync_v2)
    CUDA_TWIN_FORM(cuMemcpy3DAsync_v2)
    CUDA_TWIN_FORM(cuMemcpy3DPeerAsync)
    CUDA_TWIN_FORM(cuMemsetD8Async)
    CUDA_TWIN_FORM(cuMemsetD16Async)
    CUDA_TWIN_FORM(cuMemsetD32Async)
    CUDA_TWIN_FORM(cuMemsetD2D8Async)
    CUDA_TWIN_FORM(cuMemsetD2D16Async)
    CUDA_TWIN_FORM(cuMemsetD2D32Async)
    CUDA_TWIN_FORM(cuMemAllocAsync)
    CUDA_TWIN_FORM(cuMemAllocFromPoolAsync)
    CUDA_TWIN_FORM(cuMemFreeAsync)
    CUDA_TWIN_FORM(cuLaunchKernel)
    CUDA_TWIN_FORM(cuLaunchKernelEx)
    CUDA_TWIN_FORM(cuLaunchCooperativeKernel)
    CUDA_TWIN_FORM(cuLaunchHostFunc)
    CUDA_TWIN_FORM(cuStreamSynchronize)
    CUDA_TWIN_FORM(cuStreamQuery)
    CUDA_TWIN_FORM(cuStreamWaitEvent)
    CUDA_TWIN_FORM(cuStreamGetFlags)
    CUDA_TWIN_FORM(cuStreamGetPriority)
    CUDA_TWIN_FORM(cuStreamGetCtx)
    CUDA_TWIN_FORM(cuStreamGetId)
    CUDA_TWIN_FORM(cuStreamWriteValue32)
    CUDA_TWIN_FORM(cuStreamWriteValue32_v2)
    CUDA_TWIN_FORM(cuStreamWriteValue64)
    CUDA_TWIN_FORM(cuStreamWriteValue64_v2)
    CUDA_TWIN_FORM(cuStreamWaitValue32)
    CUDA_TWIN_FORM(cuStreamWaitValue32_v2)
    CUDA_TWIN_FORM(cuStreamWaitValue64)
    CUDA_TWIN_FORM(cuStreamWaitValue64_v2)
    CUDA_TWIN_FORM(cuEventRecord)
    CUDA_TWIN_FORM(cuEventRecordWithFlags)
    CUDA_TWIN_FORM(cuStreamBeginCapture_v2)
    CUDA_TWIN_FORM(cuStreamBeginCaptureToGraph)
    CUDA_TWIN_FORM(cuStreamEndCapture)
    CUDA_TWIN_FORM(cuStreamIsCapturing)
    CUDA_TWIN_FORM(cuStreamGetCaptureInfo)
    CUDA_TWIN_FORM(cuStreamGetCaptureInfo_v2)
    CUDA_TWIN_FORM(cuStreamGetCaptureInfo_v3)
    CUDA_TWIN_FORM(cuStreamUpdateCaptureDependencies)
    CUDA_TWIN_FORM(cuStreamUpdateCaptureDependencies_v2)
    CUDA_TWIN_FORM(cuGraphInstantiateWithParams)
    CUDA_TWIN_FORM(cuGraphUpload)
    CUDA_TWIN_FORM(cuGraphLaunch)
};
#undef CUDA_TWIN_FORM
// clang-format on

}  // namespace

bool default_stream_is_of_thread() {
  return of_thread;
}

void* per_thread_form(const ExportedFunction& function) {
  for (const Form& form : kForms) {
    if (std::strcmp(form.symbol, function.symbol) == 0) return form.address;
  }
  return function.address;
}

}  // namespace cuda_twin
