// Work that is ordered by other means than one stream or event, so that no race is reported; and
// sizes whose sums exceed 64 bits. Thread is in the names for the run with ThreadSanitizer.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "vectors.h"

namespace order_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  TWIN_OK(cuStreamCreate(&stream, flags));
  return stream;
}

/// The first stream adds 1 and is destroyed; then the host waits for the context.
TEST(OrderThreads, TheHostWaitsForStreamsThatWereDestroyed) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(32, 0u);
  for (int i = 0; i < 20; ++i) {
    const CUstream first = new_stream();
    TWIN_OK(kernels.add_one(numbers.address, 32, first));
    TWIN_OK(cuStreamDestroy(first));
    TWIN_OK(cuCtxSynchronize());
    const CUstream second = new_stream();
    TWIN_OK(kernels.add_one(numbers.address, 32, second));
    TWIN_OK(cuStreamSynchronize(second));
    TWIN_OK(cuStreamDestroy(second));
    TWIN_OK(cuCtxSynchronize());
  }
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 40u));
}

TEST(OrderThreads, TheLegacyStreamFollowsBlockingStreamsThatWereDestroyed) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(32, 0u);
  for (int i = 0; i < 20; ++i) {
    const CUstream blocking = new_stream(CU_STREAM_DEFAULT);
    TWIN_OK(kernels.add_one(numbers.address, 32, blocking));
    TWIN_OK(cuStreamDestroy(blocking));
    if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    TWIN_OK(kernels.add_one(numbers.address, 32, CU_STREAM_LEGACY));
  }
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 40u));
}

TEST(OrderThreads, WorkOfADestroyedContextIsBeforeThatOfOthers) {
  cuda_twin_reset();
  TWIN_OK(cuInit(0));
  CUcontext writer = nullptr;
  CUcontext owner = nullptr;
  TWIN_OK(cuCtxCreate(&owner, nullptr, 0, 0));
  CUdeviceptr numbers = 0;
  TWIN_OK(cuMemAlloc(&numbers, 128));
  TWIN_OK(cuMemsetD32(numbers, 5, 32));
  TWIN_OK(cuCtxCreate(&writer, nullptr, 0, 0));
  {
    const Kernels kernels;
    TWIN_OK(kernels.add_one(numbers, 32, new_stream()));
    TWIN_OK(cuCtxDestroy(writer));
  }
  TWIN_OK(cuCtxSetCurrent(owner));
  {
    const Kernels kernels;
    TWIN_OK(kernels.add_one(numbers, 32, new_stream()));
    TWIN_OK(cuCtxSynchronize());
  }
  std::vector<unsigned> read(32);
  TWIN_OK(cuMemcpyDtoH(read.data(), numbers, 128));
  EXPECT_EQ(read, std::vector<unsigned>(32, 7u));
  cuda_twin_reset();
}

TEST(OrderThreads, AWaitForAWordIsAfterTheWriteBeforeIt) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(32, 0u);
  Buffer<unsigned> word(1, 0u);
  const CUstream first = new_stream();
  const CUstream second = new_stream();
  TWIN_OK(kernels.add_one(numbers.address, 32, first));
  TWIN_OK(cuStreamWriteValue32(first, word.address, 1, 0));
  TWIN_OK(cuStreamWaitValue32(second, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
  TWIN_OK(kernels.add_one(numbers.address, 32, second));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 2u));
  TWIN_OK(cuStreamDestroy(first));
  TWIN_OK(cuStreamDestroy(second));
}

TEST(OrderThreads, AHostFunctionTellsThatTheWorkBeforeItHasEnded) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(32, 0u);
  const CUstream first = new_stream();
  const CUstream second = new_stream();
  std::atomic<bool> over{false};
  TWIN_OK(kernels.add_one(numbers.address, 32, first));
  TWIN_OK(cuLaunchHostFunc(
      first, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &over));
  while (!over) std::this_thread::yield();
  TWIN_OK(kernels.add_one(numbers.address, 32, second));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 2u));
  TWIN_OK(cuStreamDestroy(first));
  TWIN_OK(cuStreamDestroy(second));
}

/// Planes of 2^64 bytes, sums of rows beyond 64 bits, more bytes than any host has.
TEST(Sizes, CopiesAndFillsBeyond64BitsAreRefused) {
  const Gpu gpu;
  Buffer<unsigned char> device(8192, static_cast<unsigned char>(0));
  std::vector<unsigned char> host(8192);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device.address;
  copy.WidthInBytes = 4096;
  copy.Height = 1;
  copy.Depth = (size_t{1} << 52) + 1;
  copy.srcPitch = copy.dstPitch = copy.srcHeight = copy.dstHeight = size_t{1} << 32;
  EXPECT_EQ(cuMemcpy3DAsync(&copy, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
  copy.Depth = 2;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcPitch = copy.dstPitch = copy.srcHeight = copy.dstHeight = 0;
  copy.Depth = size_t{1} << 50;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.Depth = 1;
  copy.srcZ = ~size_t{0};
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcZ = 0;
  copy.srcXInBytes = ~size_t{0} - 100;
  EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcXInBytes = 0;
  TWIN_OK(cuMemcpy3D(&copy));
  EXPECT_EQ(cuMemsetD2D8(device.address, size_t{1} << 32, 1, 64, (size_t{1} << 32) + 1),
            CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemsetD2D8(device.address, 128, 1, 64, 64));
}

}  // namespace order_test
