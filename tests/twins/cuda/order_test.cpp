// Work that is ordered by other means than one stream or event, so that no race is reported; and
// sizes whose sums exceed 64 bits. Thread is in the names for the run with ThreadSanitizer.
#include <array>
#include <atomic>
#include <chrono>
#include <string>
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

/// Which of two kernels, launched 1 ms apart in streams of their own, took its ticket first. The
/// streams have worked before.
int first_to_run(const char* seed) {
  const Gpu gpu;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", seed), 1);
  CUmodule loaded = nullptr;
  CUfunction take = nullptr;
  TWIN_OK(twin_test::load(twin_test::module(R"(
.visible .entry take(.param .u64 counter, .param .u64 slot) {
  .reg .b64 %at;
  .reg .b32 %ticket;
  ld.param.u64 %at, [counter];
  atom.global.relaxed.gpu.add.u32 %ticket, [%at], 1;
  ld.param.u64 %at, [slot];
  st.global.u32 [%at], %ticket;
  ret;
})"),
                          &loaded));
  TWIN_OK(cuModuleGetFunction(&take, loaded, "take"));
  Buffer<unsigned> counter(1, 0u);
  const Buffer<unsigned> tickets(2, 9u);
  std::array<CUstream, 2> streams = {new_stream(), new_stream()};
  for (const int apart : {0, 1}) {
    counter.write({0u});
    for (std::size_t i = 0; i < streams.size(); ++i) {
      CUdeviceptr slot = tickets.address + 4 * i;
      void* arguments[] = {&counter.address, &slot};
      TWIN_OK(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, streams[i], arguments, nullptr));
      std::this_thread::sleep_for(std::chrono::milliseconds(apart));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 * apart));
    TWIN_OK(cuCtxSynchronize());
  }
  for (const CUstream stream : streams) TWIN_OK(cuStreamDestroy(stream));
  TWIN_OK(cuModuleUnload(loaded));
  const std::vector<unsigned> taken = tickets.read();
  EXPECT_EQ(taken[0] + taken[1], 1u);
  return taken[0] == 0 ? 0 : 1;
}

TEST(OrderThreads, SeedsLetStreamsOvertakeEachOther) {
  std::array<int, 2> times{};
  for (int seed = 1; seed <= 40; ++seed) {
    ++times[static_cast<std::size_t>(first_to_run(std::to_string(seed).c_str()))];
  }
  EXPECT_GT(times[0], 0);
  EXPECT_GT(times[1], 0);
}

/// Seconds that records of an event take, where the host waits with this function.
template <class Wait>
double seconds_of_records(CUstream stream, CUevent event, Wait wait) {
  constexpr int kMany = 200;
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < kMany; ++i) TWIN_OK(cuEventRecord(event, stream));
  wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

/// A query of a stream waits for nothing: without others its work comes up to 4 ms late.
TEST(OrderThreads, WorkThatSomethingWaitsForIsNotHeldBack) {
  const Gpu gpu;
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_ORDER", "1"), 1);
  const CUstream first = new_stream();
  const CUstream second = new_stream();
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  const auto poll = [&] {
    while (cuStreamQuery(first) == CUDA_ERROR_NOT_READY) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto wait_for_stream = [&] { TWIN_OK(cuStreamSynchronize(first)); };
  const auto wait_for_event = [&] { TWIN_OK(cuEventSynchronize(event)); };
  const auto wait_in_stream = [&] {
    TWIN_OK(cuStreamWaitEvent(second, event, 0));
    TWIN_OK(cuStreamSynchronize(second));
  };
  // A machine with other work may be slow once, not each time.
  std::array<bool, 3> fast{};
  for (int time = 0; time < 5; ++time) {
    const double late = seconds_of_records(first, event, poll);
    fast[0] |= seconds_of_records(first, event, wait_for_stream) < late / 2;
    fast[1] |= seconds_of_records(first, event, wait_for_event) < late / 2;
    fast[2] |= seconds_of_records(first, event, wait_in_stream) < late / 2;
  }
  EXPECT_EQ(fast, (std::array<bool, 3>{true, true, true}));
  TWIN_OK(cuEventDestroy(event));
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
