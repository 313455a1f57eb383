// Memory of the device that the driver takes for itself.
#include <string>

#include "support.h"

namespace cuda_driver_memory_test {
namespace {

using twin_test::Gpu;
using twin_test::module;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kContext = 256 * kMiB;
/// Threads that an H200 holds: its multiprocessors, and the threads of each.
constexpr std::size_t kThreads = std::size_t{132} * 2048;

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  TWIN_OK(cuMemGetInfo(&free, &total));
  return free;
}

/// A device whose driver takes memory for itself.
struct WithDriverMemory {
  Gpu gpu;
  explicit WithDriverMemory(std::size_t memory = 0) {
    (void)cuDevicePrimaryCtxRelease(gpu.device);
    cuda_twin_reset();
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DRIVER_MEMORY", "on"), 1);
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MEMORY", std::to_string(memory).c_str()), 1);
    TWIN_OK(cuInit(0));
  }
  CUresult retain() {
    const CUresult retained = cuDevicePrimaryCtxRetain(&gpu.context, gpu.device);
    if (retained == CUDA_SUCCESS) TWIN_OK(cuCtxSetCurrent(gpu.context));
    return retained;
  }
};

std::string kernel_with_local(std::size_t bytes) {
  return module(".visible .entry k()\n{\n.local .align 8 .b8 depot[" + std::to_string(bytes) +
                "];\nret;\n}");
}

TEST(CudaDriverMemory, AContextTakesMemoryUntilItEnds) {
  WithDriverMemory device;
  ASSERT_EQ(device.retain(), CUDA_SUCCESS);
  std::size_t total = 0;
  TWIN_OK(cuDeviceTotalMem(&total, device.gpu.device));
  const std::size_t first = free_memory();
  EXPECT_EQ(total - first, kContext);
  CUcontext second = nullptr;
  TWIN_OK(cuCtxCreate_v2(&second, 0, device.gpu.device));
  EXPECT_EQ(free_memory(), first - kContext);
  TWIN_OK(cuCtxDestroy(second));
  EXPECT_EQ(free_memory(), first);
}

TEST(CudaDriverMemory, ACardWithoutRoomHasNoContext) {
  WithDriverMemory device(kContext - 1);
  EXPECT_EQ(device.retain(), CUDA_ERROR_OUT_OF_MEMORY);
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate_v2(&context, 0, device.gpu.device), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(CudaDriverMemory, AModuleTakesMemoryUntilItIsUnloaded) {
  WithDriverMemory device;
  ASSERT_EQ(device.retain(), CUDA_SUCCESS);
  const std::size_t before = free_memory();
  CUmodule loaded = nullptr;
  TWIN_OK(twin_test::load(kernel_with_local(8), &loaded));
  EXPECT_EQ(free_memory(), before - 2 * kMiB) << "a block of the driver's";
  TWIN_OK(cuModuleUnload(loaded));
  EXPECT_EQ(free_memory(), before);
}

TEST(CudaDriverMemory, StacksAreThoseOfTheLargestKernelSoFar) {
  WithDriverMemory device;
  ASSERT_EQ(device.retain(), CUDA_SUCCESS);
  const std::size_t before = free_memory();
  TWIN_OK(twin_test::launch(kernel_with_local(2048), "k", 1, 1, {}));
  EXPECT_EQ(before - free_memory(), 2048 * kThreads);
  TWIN_OK(twin_test::launch(kernel_with_local(1024), "k", 1, 1, {}));
  EXPECT_EQ(before - free_memory(), 2048 * kThreads) << "they never shrink";
  TWIN_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  EXPECT_EQ(before - free_memory(), 4096 * kThreads);
  TWIN_OK(twin_test::launch(kernel_with_local(4096), "k", 1, 1, {}));
  EXPECT_EQ(before - free_memory(), 4096 * kThreads) << "there is room for them already";
}

TEST(CudaDriverMemory, StacksThatDoNotFitFailTheLaunchAndLeaveTheOldOnes) {
  WithDriverMemory device(kContext + 1024 * kMiB);
  ASSERT_EQ(device.retain(), CUDA_SUCCESS);
  TWIN_OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
  const std::size_t before = free_memory();
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 65536), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(twin_test::launch(kernel_with_local(65536), "k", 1, 1, {}), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(free_memory(), before);
  std::size_t limit = 0;
  TWIN_OK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(limit, 1024u);
}

TEST(CudaDriverMemory, IsNotCountedByDefault) {
  const Gpu gpu;
  std::size_t total = 0;
  TWIN_OK(cuDeviceTotalMem(&total, gpu.device));
  TWIN_OK(twin_test::launch(kernel_with_local(2048), "k", 1, 1, {}));
  EXPECT_EQ(free_memory(), total);
}

}  // namespace
}  // namespace cuda_driver_memory_test
