// The end of a process, and processes beside each other.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

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
