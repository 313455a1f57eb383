// Errors: names, refused modules and handles, and errors of work that later calls report.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "vectors.h"

namespace errors_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;
using twin_test::load;
using twin_test::module;

TEST(Errors, AllHaveNamesAndTexts) {
  const char* text = nullptr;
  TWIN_OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  TWIN_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  std::set<std::string> names, texts;
  int known = 0;
  for (int code = 0; code < 1000; ++code) {
    const auto result = static_cast<CUresult>(code);
    if (cuGetErrorName(result, &text) != CUDA_SUCCESS) {
      EXPECT_EQ(text, nullptr);
      continue;
    }
    ++known;
    names.insert(text);
    TWIN_OK(cuGetErrorString(result, &text));
    texts.insert(text);
  }
  EXPECT_EQ(known, 101);  // of CUDA 13.0
  EXPECT_EQ(names.size(), 101u);
  EXPECT_EQ(texts.size(), 101u);
}

TEST(Errors, TextsForOtherDevicesAndDriversAreRefused) {
  const Gpu gpu("a100");
  CUmodule loaded = nullptr;
  std::string log;
  const std::string kernel = ".visible .entry nothing() { ret; }";
  EXPECT_EQ(load(module(kernel, "8.5", "sm_80"), &loaded), CUDA_SUCCESS);
  TWIN_OK(cuModuleUnload(loaded));
  EXPECT_EQ(load(module(kernel, "8.5", "sm_90"), &loaded, &log), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(log.find("sm_90"), std::string::npos);
  EXPECT_EQ(load(module(kernel, "9.9", "sm_80"), &loaded, &log),
            CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  // Whatever a newer version has, its grammar is not judged.
  const std::string newer = ".newdirective a;\n";
  EXPECT_EQ(load(module(newer, "9.9", "sm_80"), &loaded), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(load(module(newer, "8.8", "sm_80"), &loaded), CUDA_ERROR_INVALID_PTX);
  cuda_twin_set("CUDA_TWIN_DRIVER", "12020");  // reads PTX up to 8.2
  EXPECT_EQ(load(module(newer, "8.8", "sm_80"), &loaded), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(load(module(kernel, "8.3", "sm_80"), &loaded), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(load(module(kernel, "8.2", "sm_80"), &loaded), CUDA_SUCCESS);
  TWIN_OK(cuModuleUnload(loaded));
}

TEST(Errors, TextsForOneCapabilityRunOnNoOther) {
  const Gpu gpu("b200");
  CUmodule loaded = nullptr;
  std::string log;
  const std::string kernel = ".visible .entry nothing() { ret; }";
  EXPECT_EQ(load(module(kernel, "8.8", "sm_103f"), &loaded, &log), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_NE(log.find("sm_103f "), std::string::npos) << log;
  EXPECT_EQ(load(module(kernel, "8.8", "sm_100f"), &loaded), CUDA_SUCCESS);
  TWIN_OK(cuModuleUnload(loaded));
  EXPECT_EQ(load(module(".visible .entry nothing() { ret; }", "8.5", "sm_90a"), &loaded),
            CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST(Errors, InvalidTextsHaveALogWithTheLine) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  std::string log;
  EXPECT_EQ(
      load(module(".visible .entry broken() {\n  frobnicate.u32 %r1;\n  ret;\n}"), &loaded, &log),
      CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("line 5"), std::string::npos) << log;
  EXPECT_NE(log.find("frobnicate"), std::string::npos) << log;
  EXPECT_EQ(load("this is no module", &loaded, &log), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load("", &loaded, &log), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_MODULES), 0u);
}

TEST(Errors, CompiledImagesAreRefused) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  const unsigned char elf[16] = {0x7F, 'E', 'L', 'F', 2, 1, 1, 0};
  const unsigned fat[4] = {0xBA55ED50u, 0x00100001u, 0, 0};
  const unsigned wrapper[4] = {0x466243B1u, 1, 0, 0};
  EXPECT_EQ(cuModuleLoadData(&loaded, elf), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuModuleLoadData(&loaded, fat), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuModuleLoadData(&loaded, wrapper), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(cuModuleLoadData(&loaded, "\x01\x02\x03"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&loaded, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(Errors, ModuleOptionsGiveBackTheSizesOfLogs) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  char info[64] = {}, error[8] = "filled!";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_OPTIMIZATION_LEVEL};
  const auto size = [](size_t bytes) { return reinterpret_cast<void*>(bytes); };
  void* values[] = {info, size(64), error, size(8), size(3)};
  TWIN_OK(cuModuleLoadDataEx(&loaded, twin_test::vector_kernels().c_str(), 5, options, values));
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), std::strlen(info));
  EXPECT_EQ(reinterpret_cast<size_t>(values[3]), 0u);
  EXPECT_STREQ(error, "");
  TWIN_OK(cuModuleUnload(loaded));
  values[1] = size(64);
  values[3] = size(8);
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, "nonsense", 5, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(reinterpret_cast<size_t>(values[3]), 7u);  // cut to the buffer
  EXPECT_EQ(std::strlen(error), 7u);
  std::memset(&options[4], 99, 1);
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, "nonsense", 5, options, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, "nonsense", 1, options, values), CUDA_ERROR_INVALID_VALUE);
}

TEST(Errors, ModuleOptionsHaveAValidValue) {
  const Gpu gpu("rtx4090");  // capability 8.9
  const std::string text = module(".visible .entry nothing() { ret; }", "8.5", "sm_80");
  const auto load_with = [&](CUjit_option option, std::uint64_t value) {
    CUmodule loaded = nullptr;
    void* values[] = {reinterpret_cast<void*>(value)};
    const CUresult result = cuModuleLoadDataEx(&loaded, text.c_str(), 1, &option, values);
    if (result == CUDA_SUCCESS) TWIN_OK(cuModuleUnload(loaded));
    return result;
  };
  EXPECT_EQ(load_with(CU_JIT_OPTIMIZATION_LEVEL, 4), CUDA_SUCCESS);
  EXPECT_EQ(load_with(CU_JIT_OPTIMIZATION_LEVEL, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(load_with(CU_JIT_TARGET, CU_TARGET_COMPUTE_80), CUDA_SUCCESS);
  EXPECT_EQ(load_with(CU_JIT_TARGET, CU_TARGET_COMPUTE_86), CUDA_SUCCESS);
  EXPECT_EQ(load_with(CU_JIT_TARGET, CU_TARGET_COMPUTE_75), CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(load_with(CU_JIT_TARGET, CU_TARGET_COMPUTE_90), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load_with(CU_JIT_TARGET, CU_TARGET_COMPUTE_90A), CUDA_ERROR_NO_BINARY_FOR_GPU);
  for (const std::uint64_t nonsense : {0, 7, 81, 0x50050}) {
    EXPECT_EQ(load_with(CU_JIT_TARGET, nonsense), CUDA_ERROR_INVALID_VALUE) << nonsense;
  }
}

TEST(Errors, ATargetThatTheTextIsTooNewForNamesItsLine) {
  const Gpu gpu("rtx4090");
  char log[100] = {};
  CUjit_option options[] = {CU_JIT_TARGET, CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {reinterpret_cast<void*>(std::uint64_t{CU_TARGET_COMPUTE_75}), log,
                    reinterpret_cast<void*>(sizeof log)};
  CUmodule loaded = nullptr;
  EXPECT_EQ(cuModuleLoadDataEx(&loaded, ".version 8.5\n\n.target sm_80\n.address_size 64\n", 3,
                               options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(std::string(log).rfind("line 3: error: target sm_80", 0), 0u) << log;
}

TEST(Errors, ModuleOptionsReportTheWallTime) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  CUjit_option option = CU_JIT_WALL_TIME;
  float milliseconds = -1;
  void* value = nullptr;
  std::memcpy(&value, &milliseconds, sizeof milliseconds);
  TWIN_OK(cuModuleLoadDataEx(&loaded, twin_test::vector_kernels().c_str(), 1, &option, &value));
  std::memcpy(&milliseconds, &value, sizeof milliseconds);
  EXPECT_GT(milliseconds, 0.0f);
  TWIN_OK(cuModuleUnload(loaded));
}

TEST(Errors, TheL2FetchLimitEndsAt128Bytes) {
  const Gpu gpu;
  size_t value = 0;
  TWIN_OK(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128));
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
  EXPECT_EQ(value, 128u);
}

TEST(Errors, LateErrorsSurfaceWhenTheHostWaitsAndStay) {
  const Gpu gpu;
  const Kernels kernels;
  const CUfunction bump = kernels["bump"];
  Buffer<unsigned> numbers(4, 0u);
  TWIN_OK(kernels.out_of_bounds(numbers.address, nullptr));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()).find("out_of_bounds"), std::string::npos)
      << cuda_twin_last_fault();
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  size_t free = 0;
  EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemGetInfo(&free, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemFree(numbers.address), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  // A reset drops all, and the device works again.
  TWIN_OK(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 0u);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_MODULES), 0u);
  CUcontext context = nullptr;
  TWIN_OK(cuDevicePrimaryCtxRetain(&context, 0));
  TWIN_OK(cuCtxSetCurrent(context));
  TWIN_OK(cuMemAlloc(&address, 4));
  TWIN_OK(cuMemFree(address));
}

TEST(Errors, WorkAfterAnErrorIsNotExecuted) {
  const Gpu gpu;
  const Kernels kernels;
  CUdeviceptr address = 0;
  void* host = nullptr;
  TWIN_OK(cuMemHostAlloc(&host, 64, 0));
  auto* const words = static_cast<unsigned*>(host);
  words[0] = 5;
  TWIN_OK(cuMemHostGetDevicePointer(&address, host, 0));
  TWIN_OK(kernels.add_one(address, 1, nullptr));
  TWIN_OK(kernels.out_of_bounds(address, nullptr));
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  const CUresult launched = kernels.add_one(address, 1, nullptr);
  EXPECT_EQ(launched, CUDA_SUCCESS);
  TWIN_OK(cuEventRecord(event, nullptr));
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(words[0], 6u);
}

TEST(Errors, ErrorsOfOneContextLeaveOthersAlone) {
  const Gpu gpu;
  CUcontext other = nullptr;
  TWIN_OK(cuCtxCreate(&other, nullptr, 0, 0));
  CUdeviceptr address = 0;
  TWIN_OK(cuMemAlloc(&address, 4));
  {
    const Kernels kernels;
    TWIN_OK(kernels.out_of_bounds(address, nullptr));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  TWIN_OK(cuCtxSetCurrent(gpu.context));
  TWIN_OK(cuCtxSynchronize());
  TWIN_OK(cuCtxDestroy(other));
  TWIN_OK(cuCtxSetCurrent(gpu.context));
}

TEST(Errors, MadeUpHandlesAreRefused) {
  const Gpu gpu;
  const std::uint64_t values[] = {0, 3, 16, 0x1234567890u, ~std::uint64_t{0}};
  for (const std::uint64_t value : values) {
    CUfunction function = nullptr;
    int number = 0;
    const auto module_handle = reinterpret_cast<CUmodule>(value);
    const auto function_handle = reinterpret_cast<CUfunction>(value);
    const auto event = reinterpret_cast<CUevent>(value);
    const auto stream = reinterpret_cast<CUstream>(value);
    EXPECT_EQ(cuModuleGetFunction(&function, module_handle, "x"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuModuleUnload(module_handle), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, function_handle),
              CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    if (value != 0) {
      EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    }
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_NE(cuMemFree(value == 0 ? 1 : value), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxPushCurrent(reinterpret_cast<CUcontext>(value)), CUDA_ERROR_INVALID_CONTEXT);
  }
  // An event is no stream, and a stream no event.
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  EXPECT_EQ(cuStreamQuery(reinterpret_cast<CUstream>(event)), CUDA_ERROR_INVALID_HANDLE);
  TWIN_OK(cuEventDestroy(event));
}

TEST(Errors, FunctionsEndWithTheirModule) {
  const Gpu gpu;
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  TWIN_OK(load(twin_test::vector_kernels(), &loaded));
  TWIN_OK(cuModuleGetFunction(&function, loaded, "bump"));
  TWIN_OK(cuModuleUnload(loaded));
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(loaded), CUDA_ERROR_INVALID_HANDLE);
}

TEST(Errors, MessagesNameTheCallTheCodeAndTheReason) {
  const Gpu gpu;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_STREQ(cuda_twin_last_message(), "cuMemAlloc_v2: 1: 0 bytes");
}

TEST(Errors, KernelsThatDoNotEndAreStopped) {
  const Gpu gpu;
  const Kernels kernels;
  cuda_twin_set("CUDA_TWIN_INSTRUCTIONS", "10000");
  Buffer<unsigned> word(1, 0u);
  TWIN_OK(kernels.spin(word.address, 0xFFFFFFFFu, nullptr));
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
}

}  // namespace errors_test
