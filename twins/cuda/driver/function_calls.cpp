// Attributes of functions.
#include "cuda/call.h"
#include "cuda/driver/launch.h"

namespace cuda_twin {
namespace {

struct Asked {
  const Device& device;
  const Function& function;
  const KernelInfo& kernel;
};

struct FunctionRow {
  CUfunction_attribute attribute;
  int (*value)(const Asked& asked);
};
constexpr FunctionRow kFunctionRows[] = {
    {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
     [](const Asked& a) { return static_cast<int>(max_threads_of(a.kernel)); }},
    {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
     [](const Asked& a) { return static_cast<int>(a.kernel.static_shared); }},
    {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, [](const Asked&) { return 0; }},
    {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
     [](const Asked& a) { return static_cast<int>(a.kernel.local_bytes); }},
    {CU_FUNC_ATTRIBUTE_NUM_REGS,
     [](const Asked& a) { return static_cast<int>(a.kernel.registers); }},
    {CU_FUNC_ATTRIBUTE_PTX_VERSION,
     [](const Asked& a) {
       return a.function.program->version.major * 10 + a.function.program->version.minor;
     }},
    {CU_FUNC_ATTRIBUTE_BINARY_VERSION, [](const Asked& a) { return a.device.sm(); }},
    {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, [](const Asked&) { return 0; }},
    {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     [](const Asked& a) {
       const int opted = a.function.dynamic_shared;
       const int plain = a.device.profile->shared_block - static_cast<int>(a.kernel.static_shared);
       return opted != 0 ? opted : std::max(plain, 0);
     }},
    {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
     [](const Asked& a) { return a.function.carveout.load(); }},
    {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, [](const Asked&) { return 0; }},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
     [](const Asked& a) { return static_cast<int>(a.kernel.cluster[0]); }},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
     [](const Asked& a) { return static_cast<int>(a.kernel.cluster[1]); }},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
     [](const Asked& a) { return static_cast<int>(a.kernel.cluster[2]); }},
    {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, [](const Asked&) { return 0; }},
    {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, [](const Asked&) { return 0; }},
};

CUresult get(Context& context, int* value, CUfunction_attribute attribute, CUfunction handle) {
  std::shared_ptr<Function> function;
  if (value == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "value is null");
  CUDA_TWIN_TRY(function_of(handle, function));
  for (const FunctionRow& row : kFunctionRows) {
    if (row.attribute != attribute) continue;
    *value = row.value({*context.device, *function, *function->kernel});
    return CUDA_SUCCESS;
  }
  return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such attribute");
}

CUresult set(Context& context, CUfunction handle, CUfunction_attribute attribute, int value) {
  std::shared_ptr<Function> function;
  CUDA_TWIN_TRY(function_of(handle, function));
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    if (value < -1 || value > 100) return refuse(CUDA_ERROR_INVALID_VALUE, "-1 to 100");
    function->carveout = value;
    return CUDA_SUCCESS;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the attribute cannot be set");
  }
  const int most =
      context.device->profile->shared_optin - static_cast<int>(function->kernel->static_shared);
  if (value < 0 || value > most) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the device has at most " + std::to_string(most) +
                                                " bytes of dynamic shared memory for it");
  }
  function->dynamic_shared = value;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return call_in_context(
      __func__, [&](Context& context) { return get(context, value, attribute, function); });
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return call_in_context(
      __func__, [&](Context& context) { return set(context, function, attribute, value); });
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Function> found;
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such configuration");
    }
    return function_of(function, found);
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Function> found;
    if (module == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "module is null");
    CUDA_TWIN_TRY(function_of(function, found));
    *module = found->module;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction function) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Function> found;
    if (name == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "name is null");
    CUDA_TWIN_TRY(function_of(function, found));
    *name = found->kernel->function.name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return call_in_context(__func__, [&](Context&) -> CUresult {
    std::shared_ptr<Function> found;
    if (offset == nullptr) return refuse(CUDA_ERROR_INVALID_VALUE, "offset is null");
    CUDA_TWIN_TRY(function_of(function, found));
    if (index >= found->kernel->parameters.size()) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "the kernel has fewer parameters");
    }
    *offset = found->kernel->parameters[index].offset;
    if (bytes != nullptr) *bytes = found->kernel->parameters[index].bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
