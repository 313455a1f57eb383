// The end of a process, and processes beside each other.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "vectors.h"

namespace process_test {

using twin_test::Gpu;
using twin_test::Kernels;

/// The exit status of a child that runs `body`.
template <class Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Processes, AChildOfForkHasNoDriver) {
  const Gpu gpu;
  int count = 0;
  const int status = status_of_child([&] {
    if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED) return 2;
    return cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 3;
  });
  EXPECT_EQ(status, 0);
  TWIN_OK(cuDeviceGetCount(&count));
}

/// ThreadSanitizer ends a child that starts threads.
#ifndef __SANITIZE_THREAD__
TEST(Processes, AChildOfForkBeforeCuInitHasADriver) {
  cuda_twin_reset();
  const int status = status_of_child([] {
    CUcontext context = nullptr;
    CUdeviceptr word = 0;
    unsigned value = 0;
    if (cuInit(0) != CUDA_SUCCESS) return 1;
    if (cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 2;
    if (cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&word, 4) != CUDA_SUCCESS) return 3;
    if (cuMemsetD32(word, 5, 1) != CUDA_SUCCESS) return 4;
    if (cuMemcpyDtoH(&value, word, 4) != CUDA_SUCCESS) return 5;
    return value == 5 ? 0 : 6;
  });
  EXPECT_EQ(status, 0);
}

/// Starts a driver, waits until `processes` have one, and adds 1 to `start` many times.
int add_beside_others(std::atomic<int>& live, int processes, unsigned start) {
  constexpr unsigned kCount = 500, kTimes = 20;
  CUcontext context = nullptr;
  CUdeviceptr numbers = 0;
  CUmodule loaded = nullptr;
  CUfunction add_one = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS) return 1;
  if (cuCtxSetCurrent(context) != CUDA_SUCCESS) return 2;
  if (cuMemAlloc(&numbers, kCount * 4) != CUDA_SUCCESS) return 3;
  if (cuMemsetD32(numbers, start, kCount) != CUDA_SUCCESS) return 4;
  if (twin_test::load(twin_test::vector_kernels(), &loaded) != CUDA_SUCCESS) return 5;
  if (cuModuleGetFunction(&add_one, loaded, "add_one") != CUDA_SUCCESS) return 6;
  ++live;
  for (int tries = 0; live < processes; ++tries) {
    if (tries == 10000) return 7;
    usleep(1000);
  }
  unsigned count = kCount;
  void* arguments[] = {&numbers, &count};
  for (unsigned i = 0; i < kTimes; ++i) {
    if (cuLaunchKernel(add_one, 4, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr) != 0) return 8;
    if (cuCtxSynchronize() != CUDA_SUCCESS) return 9;
  }
  std::vector<unsigned> values(kCount);
  if (cuMemcpyDtoH(values.data(), numbers, kCount * 4) != CUDA_SUCCESS) return 10;
  return values == std::vector<unsigned>(kCount, start + kTimes) ? 0 : 11;
}

TEST(Processes, TwoHaveDriversAtOnce) {
  cuda_twin_reset();
  void* const page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& live = *new (page) std::atomic<int>(0);
  const pid_t child = fork();
  if (child == 0) _exit(add_beside_others(live, 2, 1000));
  EXPECT_EQ(add_beside_others(live, 2, 5), 0) << cuda_twin_last_message();
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  munmap(page, sizeof(std::atomic<int>));
  cuda_twin_reset();
}
#endif

/// Work under way, and a stream that waits: none of it may hold up the end of the process.
void end_with_work_under_way() {
  cuda_twin_reset();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr word = 0;
  bool good = cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
              cuCtxSetCurrent(context) == CUDA_SUCCESS &&
              cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
              cuMemAlloc(&word, 4) == CUDA_SUCCESS && cuMemsetD32(word, 0, 1) == CUDA_SUCCESS;
  CUmodule loaded = nullptr;
  CUfunction spin = nullptr;
  good = good && twin_test::load(twin_test::vector_kernels(), &loaded) == CUDA_SUCCESS &&
         cuModuleGetFunction(&spin, loaded, "spin") == CUDA_SUCCESS;
  unsigned count = 0xFFFFFFFFu;
  void* arguments[] = {&word, &count};
  good = good && cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS &&
         cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_SUCCESS;
  std::exit(good ? 7 : 1);
}

TEST(ProcessesDeathTest, EndUnderWork) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(end_with_work_under_way(), ::testing::ExitedWithCode(7), "");
}

}  // namespace process_test
