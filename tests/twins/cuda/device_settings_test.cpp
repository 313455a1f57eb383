// Settings of devices: the number of multiprocessors, and a clock that is too fast.
#include <chrono>
#include <thread>
#include <utility>

#include "support.h"

namespace cuda_device_settings_test {
namespace {

using twin_test::Gpu;

TEST(CudaSettingsOfDevices, MultiprocessorsReplaceThoseOfTheProfile) {
  for (const auto& [setting, expected] : {std::pair("0", 132), std::pair("3", 3)}) {
    Gpu gpu;
    (void)cuDevicePrimaryCtxRelease(gpu.device);
    cuda_twin_reset();
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_MULTIPROCESSORS", setting), 1);
    TWIN_OK(cuInit(0));
    int value = 0;
    TWIN_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu.device));
    EXPECT_EQ(value, expected);
    TWIN_OK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    TWIN_OK(cuCtxSetCurrent(gpu.context));
  }
}

/// A clock that runs twice as fast shows twice the time.
TEST(CudaSettingsOfDevices, TimesOfEventsAreThoseOfTheDevicesClock) {
  const Gpu gpu;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_CLOCK", "1000000"), 1);
  CUevent first = nullptr, last = nullptr;
  TWIN_OK(cuEventCreate(&first, 0));
  TWIN_OK(cuEventCreate(&last, 0));
  TWIN_OK(cuEventRecord(first, nullptr));
  TWIN_OK(cuEventSynchronize(first));
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const std::chrono::duration<float, std::milli> slept = std::chrono::steady_clock::now() - start;
  TWIN_OK(cuEventRecord(last, nullptr));
  TWIN_OK(cuEventSynchronize(last));
  float milliseconds = 0;
  TWIN_OK(cuEventElapsedTime(&milliseconds, first, last));
  EXPECT_GE(milliseconds, 2 * slept.count());
  TWIN_OK(cuEventDestroy(first));
  TWIN_OK(cuEventDestroy(last));
}

}  // namespace
}  // namespace cuda_device_settings_test
