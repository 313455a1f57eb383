// Failures on request, and a program that they hit at each of its calls.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "vectors.h"

namespace faults_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

TEST(Faults, AllocationsLaunchesCopiesAndModulesFailOnce) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(4, 1u);
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUmodule loaded = nullptr;
  unsigned word = 0;
  cuda_twin_set("CUDA_TWIN_FAIL_ALLOCATION", "2");
  TWIN_OK(cuMemAlloc(&address, 4));
  CUdeviceptr second = 0;
  EXPECT_EQ(cuMemAlloc(&second, 4), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemAlloc(&second, 4));
  TWIN_OK(cuMemFree(second));
  TWIN_OK(cuMemFree(address));
  cuda_twin_set("CUDA_TWIN_FAIL_PINNED", "1");
  EXPECT_EQ(cuMemHostAlloc(&host, 64, 0), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemHostAlloc(&host, 64, 0));
  TWIN_OK(cuMemFreeHost(host));
  cuda_twin_set("CUDA_TWIN_FAIL_LAUNCH", "1");
  EXPECT_EQ(kernels.add_one(numbers.address, 4, nullptr), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  TWIN_OK(kernels.add_one(numbers.address, 4, nullptr));
  cuda_twin_set("CUDA_TWIN_FAIL_COPY", "1");
  EXPECT_EQ(cuMemcpyDtoH(&word, numbers.address, 4), CUDA_ERROR_UNKNOWN);
  TWIN_OK(cuMemcpyDtoH(&word, numbers.address, 4));
  EXPECT_EQ(word, 2u);
  cuda_twin_set("CUDA_TWIN_FAIL_MODULE", "1+");
  EXPECT_EQ(twin_test::load(twin_test::vector_kernels(), &loaded),
            CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
  EXPECT_EQ(twin_test::load(twin_test::vector_kernels(), &loaded),
            CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
}

TEST(Faults, AFullDeviceRefuses) {
  cuda_twin_reset_settings();
  cuda_twin_set("CUDA_TWIN_MEMORY", "8388608");
  cuda_twin_reset();
  TWIN_OK(cuInit(0));
  CUcontext context = nullptr;
  TWIN_OK(cuDevicePrimaryCtxRetain(&context, 0));
  TWIN_OK(cuCtxSetCurrent(context));
  CUdeviceptr first = 0, second = 0;
  size_t free = 0;
  TWIN_OK(cuMemAlloc(&first, 5 << 20));
  TWIN_OK(cuMemGetInfo(&free, nullptr));
  EXPECT_EQ(free, size_t{2} << 20);
  EXPECT_EQ(cuMemAlloc(&second, 3 << 20), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemAlloc(&second, 2 << 20));
  EXPECT_EQ(cuMemAllocHost(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemFree(first));
  TWIN_OK(cuMemFree(second));
  cuda_twin_reset();
  cuda_twin_reset_settings();
}

class LateErrors : public ::testing::TestWithParam<int> {};

TEST_P(LateErrors, LoseTheContext) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(4, 1u);
  cuda_twin_set("CUDA_TWIN_LATE_CODE", std::to_string(GetParam()).c_str());
  cuda_twin_set("CUDA_TWIN_FAIL_LATE", "2");
  TWIN_OK(kernels.add_one(numbers.address, 4, nullptr));
  TWIN_OK(kernels.add_one(numbers.address, 4, nullptr));  // accepted, fails later
  const auto code = static_cast<CUresult>(GetParam());
  EXPECT_EQ(cuCtxSynchronize(), code);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 4), code);
  TWIN_OK(cuDevicePrimaryCtxReset(0));
  CUcontext context = nullptr;
  TWIN_OK(cuDevicePrimaryCtxRetain(&context, 0));
  TWIN_OK(cuCtxSetCurrent(context));
  TWIN_OK(cuMemAlloc(&address, 4));
  TWIN_OK(cuMemFree(address));
}

// ECC, addresses, traps: those that the vendor's documents call sticky.
INSTANTIATE_TEST_SUITE_P(Sticky, LateErrors, ::testing::Values(214, 700, 702, 714, 715, 716, 719));

TEST(Faults, ALostDeviceAnswersNothing) {
  const Gpu gpu;
  int count = 0;
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  cuda_twin_set("CUDA_TWIN_FAIL_LOST", "2");
  TWIN_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_DEVICE_UNAVAILABLE);
  cuda_twin_set("CUDA_TWIN_FAIL_LOST", "0");
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(cuDevicePrimaryCtxReset(0), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
  const char* name = nullptr;
  TWIN_OK(cuGetErrorName(CUDA_ERROR_DEVICE_UNAVAILABLE, &name));
}

TEST(Faults, AFunctionIsMissing) {
  const Gpu gpu;
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  cuda_twin_set("CUDA_TWIN_MISSING", "2");  // the second line of symbols.txt
  EXPECT_EQ(cuGetProcAddress("cuDriverGetVersion", &function, 13000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  TWIN_OK(cuGetProcAddress("cuInit", &function, 13000, 0, &status));
}

/// A program of some 200 calls; it ends at its first error.
class Program {
 public:
  CUresult run() {
    CUresult result = begin();
    for (int round = 0; round < 12 && result == CUDA_SUCCESS; ++round) result = work();
    return result;
  }
  /// Calls that a program makes after a failure; their results do not matter.
  void end() const {
    (void)cuStreamSynchronize(stream_);
    (void)cuMemFree(device_);
    (void)cuMemFree(other_);
    (void)cuMemFreeHost(host_);
    (void)cuEventDestroy(event_);
    (void)cuStreamDestroy(stream_);
    (void)cuModuleUnload(module_);
    (void)cuCtxSetCurrent(nullptr);
    (void)cuDevicePrimaryCtxRelease(0);
  }

 private:
  CUresult begin() {
    CUcontext context = nullptr;
    const std::function<CUresult()> calls[] = {
        [&] { return cuDevicePrimaryCtxRetain(&context, 0); },
        [&] { return cuCtxSetCurrent(context); },
        [&] { return twin_test::load(text_, &module_); },
        [&] { return cuModuleGetFunction(&add_, module_, "add_one"); },
        [&] { return cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING); },
        [&] { return cuEventCreate(&event_, 0); },
        [&] { return cuMemHostAlloc(&host_, kBytes, 0); },
        [&] { return cuMemAlloc(&device_, kBytes); },
    };
    return all(calls);
  }
  CUresult work() {
    unsigned n = kCount;
    void* arguments[] = {&device_, &n};
    auto* const words = static_cast<unsigned*>(host_);
    const std::function<CUresult()> calls[] = {
        [&] { return cuMemAlloc(&other_, kBytes); },
        [&] { return cuMemsetD32Async(device_, 1, kCount, stream_); },
        [&] { return cuMemcpyHtoDAsync(other_, host_, kBytes, stream_); },
        [&] { return launch(arguments); },
        [&] { return cuEventRecord(event_, stream_); },
        [&] { return cuStreamWaitEvent(nullptr, event_, 0); },
        [&] { return cuMemcpyDtoDAsync(other_, device_, kBytes, stream_); },
        [&] { return launch(arguments); },
        [&] { return cuMemcpyDtoHAsync(host_, device_, kBytes, stream_); },
        [&] { return cuEventSynchronize(event_); },
        [&] { return cuStreamSynchronize(stream_); },
        [&] { return words[kCount - 1] == 3 ? CUDA_SUCCESS : CUDA_ERROR_ASSERT; },
        [&] { return cuMemFree(other_); },
        [&] { return forget(other_); },
    };
    return all(calls);
  }
  template <size_t kSize>
  static CUresult all(const std::function<CUresult()> (&calls)[kSize]) {
    for (const auto& call : calls) {
      const CUresult result = call();
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  }
  CUresult launch(void** arguments) const {
    return cuLaunchKernel(add_, 1, 1, 1, kCount, 1, 1, 0, stream_, arguments, nullptr);
  }
  static CUresult forget(CUdeviceptr& address) {
    address = 0;
    return CUDA_SUCCESS;
  }

  static constexpr unsigned kCount = 64;
  static constexpr size_t kBytes = kCount * sizeof(unsigned);
  std::string text_ = twin_test::vector_kernels();
  CUmodule module_ = nullptr;
  CUfunction add_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  void* host_ = nullptr;
  CUdeviceptr device_ = 0, other_ = 0;
};

struct Planted {
  const char* setting;
  CUresult result;
  int events;  // of the whole program
};
class EachCall : public ::testing::TestWithParam<Planted> {};

TEST_P(EachCall, FailsAndTheTwinStaysUsable) {
  for (int n = 1; n <= GetParam().events; ++n) {
    cuda_twin_reset_settings();
    cuda_twin_reset();
    TWIN_OK(cuInit(0));
    cuda_twin_set("CUDA_TWIN_LATE_CODE", "700");
    cuda_twin_set(GetParam().setting, std::to_string(n).c_str());
    Program program;
    EXPECT_EQ(program.run(), GetParam().result) << GetParam().setting << " " << n;
    cuda_twin_set(GetParam().setting, "0");
    program.end();
    if (GetParam().result != CUDA_ERROR_DEVICE_UNAVAILABLE) {
      for (std::uint32_t kind = 0; kind <= CUDA_TWIN_PHYSICAL_HANDLES; ++kind) {
        EXPECT_EQ(cuda_twin_count_live(static_cast<cuda_twin_live>(kind)), 0u)
            << GetParam().setting << " " << n << ", kind " << kind;
      }
      Program again;
      EXPECT_EQ(again.run(), CUDA_SUCCESS) << GetParam().setting << " " << n;
      again.end();
    }
  }
  // One event more than there are: the program does not meet it.
  cuda_twin_reset();
  TWIN_OK(cuInit(0));
  cuda_twin_set(GetParam().setting, std::to_string(GetParam().events + 1).c_str());
  Program program;
  EXPECT_EQ(program.run(), CUDA_SUCCESS);
  cuda_twin_reset_settings();
  program.end();
  cuda_twin_reset();
}

INSTANTIATE_TEST_SUITE_P(
    OfAProgram, EachCall,
    ::testing::Values(Planted{"CUDA_TWIN_FAIL_ALLOCATION", CUDA_ERROR_OUT_OF_MEMORY, 13},
                      Planted{"CUDA_TWIN_FAIL_PINNED", CUDA_ERROR_OUT_OF_MEMORY, 1},
                      Planted{"CUDA_TWIN_FAIL_MODULE", CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 1},
                      Planted{"CUDA_TWIN_FAIL_LAUNCH", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 24},
                      Planted{"CUDA_TWIN_FAIL_COPY", CUDA_ERROR_UNKNOWN, 36},
                      Planted{"CUDA_TWIN_FAIL_LATE", CUDA_ERROR_ILLEGAL_ADDRESS, 72},
                      Planted{"CUDA_TWIN_FAIL_LOST", CUDA_ERROR_DEVICE_UNAVAILABLE, 152}),
    [](const auto& param) { return std::string(param.param.setting).substr(15); });

}  // namespace faults_test
