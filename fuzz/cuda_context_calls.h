// Calls of the CUDA twin about modules, functions, launches with attributes, contexts and peers.
#pragma once

#include "cuda_memory_calls.h"

namespace shunt::fuzz {

class CudaContextCalls : public CudaMemoryCalls {
 protected:
  using CudaMemoryCalls::CudaMemoryCalls;

  static constexpr const char* kModule = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .global .align 4 .u32 total;
.visible .entry add(.param .u64 p, .param .u32 c) {
  .reg .b64 %a; .reg .b32 %x, %c, %t;
  ld.param.u64 %a, [p]; ld.param.u32 %c, [c];
  mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a;
  ld.global.u32 %x, [%a]; add.u32 %x, %x, %c; st.global.u32 [%a], %x; ret;
})";

  void load_module() {
    CUmodule made = nullptr;
    const CUresult code = cuModuleLoadData(&made, kModule);
    keep(modules_, made, code);
    CUfunction function = nullptr;
    if (code == CUDA_SUCCESS && cuModuleGetFunction(&function, made, "add") == CUDA_SUCCESS)
      functions_.insert(functions_.begin(), function);
  }

  void use_module() {
    const CUmodule module = any(modules_);
    switch (bytes_.next(5)) {
      case 0:
        load_module();
        break;
      case 1:
        (void)cuModuleUnload(module);
        break;
      case 2: {
        CUfunction made = nullptr;
        const CUresult code =
            cuModuleGetFunction(&made, module, bytes_.next(4) == 0 ? "none" : "add");
        keep(functions_, made, code);
        break;
      }
      case 3: {
        CUdeviceptr address = 0;
        std::size_t size = 0;
        const CUresult code = cuModuleGetGlobal(&address, &size, module, "total");
        keep(addresses_, address, code);
        break;
      }
      default: {
        CUmodule found = nullptr;
        (void)cuFuncGetModule(&found, any(functions_));
      }
    }
  }

  void use_function() {
    const CUfunction function = any(functions_);
    switch (bytes_.next(6)) {
      case 0: {
        int value = 0;
        (void)cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(bytes_.next(18)),
                                 function);
        break;
      }
      case 1:
        (void)cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(bytes_.next(18)),
                                 static_cast<int>(bytes_.next()) * 1024);
        break;
      case 2: {
        std::size_t offset = 0;
        std::size_t size = 0;
        (void)cuFuncGetParamInfo(function, bytes_.next(4), &offset, &size);
        break;
      }
      case 3: {
        int blocks = 0;
        (void)cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, function, static_cast<int>(bytes_.next()) * 8 - 8, bytes_.next() * 1024ull);
        break;
      }
      case 4: {
        std::size_t bytes = 0;
        (void)cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function,
                                                      static_cast<int>(bytes_.next(40)) - 1,
                                                      static_cast<int>(bytes_.next()) * 8);
        break;
      }
      default: {
        const char* name = nullptr;
        (void)cuFuncGetName(&name, function);
      }
    }
  }

  /// A launch with attributes, through a list of pointers or one packed buffer of parameters.
  void launch_with_attributes() {
    CUlaunchAttribute attribute{};
    attribute.id = static_cast<CUlaunchAttributeID>(bytes_.next(16));
    attribute.value.clusterDim = {bytes_.next(3), 1, 1};  // the first word of each attribute
    CUlaunchConfig config{};
    config.gridDimX = bytes_.next(4);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = bytes_.next(65);
    config.sharedMemBytes = bytes_.next(4) * 16384;
    config.hStream = stream();
    // An attribute with the handle of an event would get a made-up one.
    const bool names_event = attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
                             attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    if (names_event) attribute.value.launchCompletionEvent.event = any(events_);
    config.attrs = &attribute;
    config.numAttrs = bytes_.next(2);
    struct {
      CUdeviceptr address;
      std::uint32_t number;
    } packed = {any_device_address(), 1};
    std::size_t size = sizeof(packed.address) + sizeof(packed.number) - bytes_.next(2) * 4;
    std::array<void*, 2> list = {&packed.address, &packed.number};
    std::array<void*, 5> extra = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed,
                                  CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    const bool as_list = bytes_.next(2) == 0;
    (void)cuLaunchKernelEx(&config, any(functions_), as_list ? list.data() : nullptr,
                           as_list ? nullptr : extra.data());
  }

  void use_context() {
    const CUcontext context = any(contexts_);
    switch (bytes_.next(9)) {
      case 0: {
        CUcontext made = nullptr;
        const CUresult code = cuCtxCreate(&made, nullptr, bytes_.next(16), any_device());
        keep(contexts_, made, code);
        break;
      }
      case 1:
        (void)cuCtxDestroy(context);
        break;
      case 2:
        (void)cuCtxPushCurrent(context);
        break;
      case 3: {
        CUcontext popped = nullptr;
        (void)cuCtxPopCurrent(&popped);
        break;
      }
      case 4:
        (void)cuCtxSetCurrent(context);
        break;
      case 5:
        (void)cuCtxEnablePeerAccess(context, bytes_.next(8) == 0 ? 1 : 0);
        break;
      case 6:
        (void)cuCtxDisablePeerAccess(context);
        break;
      case 7: {
        const auto limit = static_cast<CUlimit>(bytes_.next(8));
        std::size_t value = 0;
        (void)cuCtxGetLimit(&value, limit);
        (void)cuCtxSetLimit(limit, bytes_.next() * 1024ull);
        break;
      }
      default: {
        const CUdevice device = any_device();
        CUcontext made = nullptr;
        const CUresult code = cuDevicePrimaryCtxRetain(&made, device);
        keep(contexts_, made, code);
        if (bytes_.next(4) == 0) {
          forget_word();
          (void)cuDevicePrimaryCtxReset(device);
        }
        if (bytes_.next(2) == 0) {
          forget_word();
          (void)cuDevicePrimaryCtxRelease(device);
        }
      }
    }
  }

  void measure() {
    float milliseconds = 0;
    (void)cuEventElapsedTime(&milliseconds, any(events_), any(events_));
    int priority = 0;
    (void)cuStreamGetPriority(stream(), &priority);
    CUcontext of = nullptr;
    (void)cuStreamGetCtx(stream(), &of);
  }
};

}  // namespace shunt::fuzz
