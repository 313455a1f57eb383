// Failures on request. each_call_test.cpp has them at each call of a long program. Thread is in the
// names for the run with ThreadSanitizer.
#include <string>

#include "vectors.h"

namespace faults_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

TEST(FaultThreads, AllocationsLaunchesCopiesAndModulesFailOnce) {
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

TEST(FaultThreads, AFullDeviceRefuses) {
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
  CUdeviceptr managed = 0;
  TWIN_OK(cuMemAllocManaged(&managed, 64 << 20, CU_MEM_ATTACH_GLOBAL));
  TWIN_OK(cuMemFree(managed));
  TWIN_OK(cuMemFree(first));
  TWIN_OK(cuMemFree(second));
  TWIN_OK(cuMemGetInfo(&free, nullptr));
  EXPECT_EQ(free, size_t{8} << 20);
  cuda_twin_reset();
  cuda_twin_reset_settings();
}

class LateErrorThreads : public ::testing::TestWithParam<int> {};

TEST_P(LateErrorThreads, LoseTheContext) {
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
INSTANTIATE_TEST_SUITE_P(Sticky, LateErrorThreads,
                         ::testing::Values(214, 700, 702, 714, 715, 716, 719));

TEST(FaultThreads, WorkThatHangsHoldsItsStreamUntilTheContextEnds) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(4, 1u);
  CUstream stuck = nullptr, other = nullptr;
  TWIN_OK(cuStreamCreate(&stuck, CU_STREAM_NON_BLOCKING));
  TWIN_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  cuda_twin_set("CUDA_TWIN_FAIL_HANG", "2");
  TWIN_OK(kernels.add_one(numbers.address, 4, stuck));
  TWIN_OK(cuStreamSynchronize(stuck));
  TWIN_OK(kernels.add_one(numbers.address, 4, stuck));
  CUevent event = nullptr;  // no work of the device
  TWIN_OK(cuEventCreate(&event, 0));
  TWIN_OK(cuEventRecord(event, other));
  TWIN_OK(cuStreamSynchronize(other));
  EXPECT_EQ(cuStreamQuery(stuck), CUDA_ERROR_NOT_READY);
  cuda_twin_reset();  // ends the context
  EXPECT_EQ(cuStreamQuery(stuck), CUDA_ERROR_NOT_INITIALIZED);
}

TEST(FaultThreads, ALostDeviceAnswersNothing) {
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

TEST(FaultThreads, AFunctionIsMissing) {
  const Gpu gpu;
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  cuda_twin_set("CUDA_TWIN_MISSING", "2");  // the second line of symbols.txt
  EXPECT_EQ(cuGetProcAddress("cuDriverGetVersion", &function, 13000, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  TWIN_OK(cuGetProcAddress("cuInit", &function, 13000, 0, &status));
}

}  // namespace faults_test
