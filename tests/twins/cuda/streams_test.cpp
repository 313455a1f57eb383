// Streams, events, host functions and words that streams wait for. Thread is in the names for the
// run with ThreadSanitizer.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "vectors.h"

namespace streams_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

/// Pinned memory of the host.
struct Pinned {
  unsigned* words = nullptr;
  explicit Pinned(size_t count) {
    void* host = nullptr;
    TWIN_OK(cuMemHostAlloc(&host, count * sizeof(unsigned), 0));
    words = static_cast<unsigned*>(host);
    for (size_t i = 0; i < count; ++i) words[i] = 0;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { (void)cuMemFreeHost(words); }
};

struct Made {
  CUstream stream = nullptr;
  explicit Made(unsigned flags = CU_STREAM_NON_BLOCKING) {
    TWIN_OK(cuStreamCreate(&stream, flags));
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { (void)cuStreamDestroy(stream); }
};

struct Happening {
  CUevent event = nullptr;
  explicit Happening(unsigned flags = CU_EVENT_DEFAULT) { TWIN_OK(cuEventCreate(&event, flags)); }
  Happening(const Happening&) = delete;
  Happening& operator=(const Happening&) = delete;
  ~Happening() { (void)cuEventDestroy(event); }
};

/// A stream that does nothing until it is opened.
struct Gate {
  Buffer<unsigned> word{1, 0u};
  Made opener;
  void close(CUstream stream) {
    TWIN_OK(cuStreamWaitValue32(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  void open() { TWIN_OK(cuStreamWriteValue32(opener.stream, word.address, 1, 0)); }
};

TEST(StreamThreads, WorkOfAStreamKeepsItsOrder) {
  const Gpu gpu;
  for (const char* seed : {"0", "1", "2", "3"}) {
    cuda_twin_set("CUDA_TWIN_ORDER", seed);
    const Kernels kernels;
    const Made made;
    Pinned host(64);
    Buffer<unsigned> numbers(64, 0u);
    TWIN_OK(cuMemcpyHtoDAsync(numbers.address, host.words, 256, made.stream));
    for (int i = 0; i < 20; ++i) TWIN_OK(kernels.add_one(numbers.address, 64, made.stream));
    TWIN_OK(cuMemcpyDtoHAsync(host.words, numbers.address, 256, made.stream));
    TWIN_OK(cuStreamSynchronize(made.stream));
    for (int i = 0; i < 64; ++i) EXPECT_EQ(host.words[i], 20u);
  }
}

TEST(StreamThreads, QueryAndSynchronizeKnowWhetherWorkIsDone) {
  const Gpu gpu;
  const Made made;
  Gate gate;
  TWIN_OK(cuStreamQuery(made.stream));
  gate.close(made.stream);
  EXPECT_EQ(cuStreamQuery(made.stream), CUDA_ERROR_NOT_READY);
  TWIN_OK(cuStreamQuery(gate.opener.stream));
  gate.open();
  TWIN_OK(cuStreamSynchronize(made.stream));
  TWIN_OK(cuStreamQuery(made.stream));
}

/// How often a host function saw no query return while it ran.
struct Queries {
  std::atomic<int> done{0}, missed{0};
  static void await(void* user) {
    auto& self = *static_cast<Queries*>(user);
    const int before = self.done;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (self.done < before + 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    if (self.done < before + 2) ++self.missed;
  }
};

TEST(StreamThreads, AQueryDoesNotWaitForWorkThatOthersSubmit) {
  const Gpu gpu;
  const Made made;
  Queries queries;
  std::atomic<bool> over{false};
  std::thread other([&] {
    TWIN_OK(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < 400 && queries.missed == 0; ++i) {
      TWIN_OK(cuLaunchHostFunc(made.stream, Queries::await, &queries));
      TWIN_OK(cuStreamSynchronize(made.stream));
    }
    over = true;
  });
  while (!over) {
    const CUresult code = cuStreamQuery(made.stream);
    EXPECT_TRUE(code == CUDA_SUCCESS || code == CUDA_ERROR_NOT_READY) << code;
    ++queries.done;
  }
  other.join();
  EXPECT_EQ(queries.missed, 0);
}

/// Work of another context uses the memory that is freed.
TEST(StreamThreads, MemoryIsFreedWhenItsOwnersWorkHasEnded) {
  const Gpu gpu;
  CUcontext owner = nullptr;
  const auto rest = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  TWIN_OK(cuCtxCreate(&owner, nullptr, 0, 0));
  CUdeviceptr plain = 0, pooled = 0;
  void* pinned = nullptr;
  {
    const Made made;
    TWIN_OK(cuMemAlloc(&plain, 256));
    TWIN_OK(cuMemAllocAsync(&pooled, 256, made.stream));
    TWIN_OK(cuMemHostAlloc(&pinned, 256, 0));
    const std::function<CUresult()> uses[] = {
        [&] { return cuMemsetD32Async(pooled, 1, 64, made.stream); },
        [&] { return cuMemcpyHtoDAsync(plain, pinned, 256, made.stream); },
        [&] { return cuMemsetD32Async(plain, 1, 64, made.stream); },
    };
    const std::function<CUresult()> frees[] = {
        [&] { return cuMemFree(pooled); },
        [&] { return cuMemFreeHost(pinned); },
        [&] { return cuMemFree(plain); },
    };
    for (int i = 0; i < 3; ++i) {
      TWIN_OK(cuLaunchHostFunc(made.stream, rest, nullptr));
      TWIN_OK(uses[i]());
      TWIN_OK(cuCtxPushCurrent(gpu.context));
      TWIN_OK(frees[i]());
      TWIN_OK(cuCtxPopCurrent(nullptr));
      ASSERT_EQ(cuStreamSynchronize(made.stream), CUDA_SUCCESS) << i << cuda_twin_last_fault();
    }
  }
  TWIN_OK(cuCtxDestroy(owner));
}

TEST(StreamThreads, EventsOrderStreams) {
  const Gpu gpu;
  const Kernels kernels;
  const Made first, second;
  const Happening event(CU_EVENT_DISABLE_TIMING);
  Buffer<unsigned> numbers(32, 0u);
  Gate gate;
  TWIN_OK(cuEventQuery(event.event));  // never recorded
  gate.close(first.stream);
  TWIN_OK(kernels.add_one(numbers.address, 32, first.stream));
  TWIN_OK(cuEventRecord(event.event, first.stream));
  TWIN_OK(cuStreamWaitEvent(second.stream, event.event, 0));
  TWIN_OK(kernels.add_one(numbers.address, 32, second.stream));
  EXPECT_EQ(cuEventQuery(event.event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamQuery(second.stream), CUDA_ERROR_NOT_READY);
  gate.open();
  TWIN_OK(cuStreamSynchronize(second.stream));
  TWIN_OK(cuEventQuery(event.event));
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 2u));
}

TEST(StreamThreads, AWaitIsForTheRecordBeforeIt) {
  const Gpu gpu;
  const Made first, second, waiting;
  const Happening event;
  Gate gate;
  TWIN_OK(cuEventRecord(event.event, first.stream));
  TWIN_OK(cuStreamWaitEvent(waiting.stream, event.event, 0));
  gate.close(second.stream);
  TWIN_OK(cuEventRecord(event.event, second.stream));  // the wait does not see this one
  TWIN_OK(cuStreamSynchronize(waiting.stream));
  EXPECT_EQ(cuEventQuery(event.event), CUDA_ERROR_NOT_READY);
  gate.open();
  TWIN_OK(cuEventSynchronize(event.event));
}

TEST(StreamThreads, ElapsedTimeIsThatBetweenTheRecords) {
  const Gpu gpu;
  const Made made;
  const Happening start, end, untimed(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start.event, end.event), CUDA_ERROR_INVALID_HANDLE);
  const auto before = std::chrono::steady_clock::now();
  TWIN_OK(cuEventRecord(start.event, made.stream));
  const auto pause = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  TWIN_OK(cuLaunchHostFunc(made.stream, pause, nullptr));
  TWIN_OK(cuEventRecord(end.event, made.stream));
  TWIN_OK(cuEventRecord(untimed.event, made.stream));
  TWIN_OK(cuEventSynchronize(end.event));
  const std::chrono::duration<float, std::milli> most = std::chrono::steady_clock::now() - before;
  TWIN_OK(cuEventElapsedTime(&milliseconds, start.event, end.event));
  EXPECT_GE(milliseconds, 20.0f);
  EXPECT_LE(milliseconds, most.count());
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start.event, untimed.event),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST(StreamThreads, TheLegacyStreamWaitsForBlockingStreamsAndTheyForIt) {
  const Gpu gpu;
  const Made blocking(CU_STREAM_DEFAULT), free_running;
  Gate gate;
  gate.close(blocking.stream);
  Buffer<unsigned>& word = gate.word;
  Pinned host(1);
  TWIN_OK(cuMemcpyDtoHAsync(host.words, word.address, 4, nullptr));
  TWIN_OK(cuMemcpyDtoHAsync(host.words, word.address, 4, CU_STREAM_LEGACY));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  const Made later(CU_STREAM_DEFAULT);
  TWIN_OK(cuLaunchHostFunc(
      later.stream, [](void*) {}, nullptr));
  EXPECT_EQ(cuStreamQuery(later.stream), CUDA_ERROR_NOT_READY);
  TWIN_OK(cuLaunchHostFunc(
      free_running.stream, [](void*) {}, nullptr));
  TWIN_OK(cuStreamSynchronize(free_running.stream));
  gate.open();
  TWIN_OK(cuStreamSynchronize(later.stream));
  EXPECT_EQ(host.words[0], 1u);
}

TEST(StreamThreads, EachHostThreadHasADefaultStreamOfItsOwn) {
  const Gpu gpu;
  unsigned long long mine = 0, again = 0, theirs = 0;
  TWIN_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
  TWIN_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &again));
  std::thread([&] {
    TWIN_OK(cuCtxSetCurrent(gpu.context));
    TWIN_OK(cuStreamGetId(CU_STREAM_PER_THREAD, &theirs));
  }).join();
  EXPECT_EQ(mine, again);
  EXPECT_NE(mine, theirs);
}

TEST(StreamThreads, AsynchronousCopiesReadPinnedMemoryWhenTheyRun) {
  const Gpu gpu;
  const Made made;
  Gate gate;
  Pinned host(1);
  Buffer<unsigned> device(1, 0u);
  gate.close(made.stream);
  host.words[0] = 1;
  TWIN_OK(cuMemcpyHtoDAsync(device.address, host.words, 4, made.stream));
  host.words[0] = 2;  // too early: the copy has not run
  gate.open();
  TWIN_OK(cuStreamSynchronize(made.stream));
  EXPECT_EQ(device.read()[0], 2u);
}

TEST(StreamThreads, AsynchronousCopiesStagePageableMemory) {
  const Gpu gpu;
  const Made made;
  Gate gate;
  unsigned host = 1;
  Buffer<unsigned> device(1, 0u);
  gate.close(made.stream);
  TWIN_OK(cuMemcpyHtoDAsync(device.address, &host, 4, made.stream));
  host = 2;
  gate.open();
  TWIN_OK(cuMemcpyDtoHAsync(&host, device.address, 4, made.stream));  // returns when it is done
  EXPECT_EQ(host, 1u);
}

TEST(StreamThreads, HostFunctionsMayNotCallTheDriver) {
  const Gpu gpu;
  const Made made;
  CUresult result = CUDA_SUCCESS;
  const auto function = [](void* user) {
    size_t free = 0;
    *static_cast<CUresult*>(user) = cuMemGetInfo(&free, nullptr);
  };
  TWIN_OK(cuLaunchHostFunc(made.stream, function, &result));
  TWIN_OK(cuStreamSynchronize(made.stream));
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cuLaunchHostFunc(made.stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST(StreamThreads, WordsAreComparedAsTheConditionSays) {
  const Gpu gpu;
  struct Row {
    unsigned word, value, flags;
    bool passes;
  };
  // Greater or equal is cyclic: the difference as a signed number is not negative.
  const Row rows[] = {{5, 5, CU_STREAM_WAIT_VALUE_GEQ, true},
                      {4, 5, CU_STREAM_WAIT_VALUE_GEQ, false},
                      {2, 0xFFFFFFFFu, CU_STREAM_WAIT_VALUE_GEQ, true},
                      {6, 3, CU_STREAM_WAIT_VALUE_AND, true},
                      {4, 3, CU_STREAM_WAIT_VALUE_AND, false},
                      {0xFFFFFFF0u, 0x0Fu, CU_STREAM_WAIT_VALUE_NOR, false},
                      {0xFFFFFFF0u, 0x07u, CU_STREAM_WAIT_VALUE_NOR, true},
                      {7, 8, CU_STREAM_WAIT_VALUE_EQ, false}};
  for (const Row& row : rows) {
    const Made made;
    Buffer<unsigned> word(1, row.word);
    TWIN_OK(cuStreamWaitValue32(made.stream, word.address, row.value, row.flags));
    if (row.passes) {
      TWIN_OK(cuStreamSynchronize(made.stream));
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(cuStreamQuery(made.stream), CUDA_ERROR_NOT_READY) << row.word << " " << row.flags;
    const Made other;
    const unsigned passing = row.flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : row.value;
    TWIN_OK(cuStreamWriteValue32(other.stream, word.address, passing, 0));
    TWIN_OK(cuStreamSynchronize(made.stream));
  }
  const Made made;
  Buffer<unsigned> word(2, 0u);
  EXPECT_EQ(cuStreamWriteValue32(made.stream, word.address + 2, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWriteValue32(made.stream, word.address + 8, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(StreamThreads, ADestroyedStreamEndsItsWork) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(32, 0u);
  CUstream stream = nullptr;
  {
    Gate gate;
    TWIN_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    gate.close(stream);
    for (int i = 0; i < 10; ++i) TWIN_OK(kernels.add_one(numbers.address, 32, stream));
    TWIN_OK(cuStreamDestroy(stream));
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    gate.open();
  }
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(32, 10u));
}

TEST(StreamThreads, AContextEndsUnderAStreamThatStillWaits) {
  cuda_twin_reset();
  TWIN_OK(cuInit(0));
  CUcontext context = nullptr;
  TWIN_OK(cuCtxCreate(&context, nullptr, 0, 0));
  CUstream stream = nullptr;
  CUdeviceptr word = 0;
  TWIN_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  TWIN_OK(cuMemAlloc(&word, 4));
  TWIN_OK(cuMemsetD32(word, 0, 1));
  TWIN_OK(cuStreamWaitValue32(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
  TWIN_OK(cuCtxDestroy(context));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_STREAMS), 0u);
  cuda_twin_reset();
}

TEST(StreamThreads, ManyHostThreadsUseTheDriverAtOnce) {
  const Gpu gpu;
  cuda_twin_set("CUDA_TWIN_ORDER", "5");
  const Kernels kernels;
  const CUfunction add = kernels["add_one"];
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      TWIN_OK(cuCtxSetCurrent(gpu.context));
      for (int round = 0; round < 10; ++round) {
        const Made made;
        const Happening event;
        std::vector<unsigned> numbers(64, t);
        CUdeviceptr address = 0;
        unsigned n = 64;
        TWIN_OK(cuMemAllocAsync(&address, 256, made.stream));
        TWIN_OK(cuMemcpyHtoDAsync(address, numbers.data(), 256, made.stream));
        void* arguments[] = {&address, &n};
        TWIN_OK(cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, made.stream, arguments, nullptr));
        TWIN_OK(cuEventRecord(event.event, made.stream));
        TWIN_OK(cuMemcpyDtoHAsync(numbers.data(), address, 256, made.stream));
        TWIN_OK(cuMemFreeAsync(address, made.stream));
        TWIN_OK(cuEventSynchronize(event.event));
        TWIN_OK(cuStreamSynchronize(made.stream));
        for (const unsigned number : numbers) wrong += number != t + 1 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(StreamThreads, PrioritiesAreClampedToTheRange) {
  const Gpu gpu;
  int least = 1, greatest = 1, priority = 1;
  TWIN_OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  CUstream stream = nullptr;
  TWIN_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 10));
  TWIN_OK(cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  unsigned flags = 0;
  TWIN_OK(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  CUcontext context = nullptr;
  TWIN_OK(cuStreamGetCtx(stream, &context));
  EXPECT_EQ(context, gpu.context);
  TWIN_OK(cuStreamDestroy(stream));
  EXPECT_EQ(cuStreamCreate(&stream, 7), CUDA_ERROR_INVALID_VALUE);
}

/// Not among the tests of threads: the two pieces of work race for the same bytes, which
/// ThreadSanitizer rightly reports.
TEST(StreamOrder, UnorderedWorkOfTwoStreamsIsReported) {
  const Gpu gpu;
  const Kernels kernels;
  cuda_twin_set("CUDA_TWIN_FINDINGS", "record");
  const Made first, second;
  Buffer<unsigned> numbers(32, 0u);
  cuda_twin_drop_findings();
  TWIN_OK(kernels.add_one(numbers.address, 32, first.stream));
  TWIN_OK(cuMemsetD32Async(numbers.address, 0, 32, second.stream));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_GE(cuda_twin_findings(), 1u);
  cuda_twin_drop_findings();
  // The same with an event between.
  const Happening event;
  TWIN_OK(kernels.add_one(numbers.address, 32, first.stream));
  TWIN_OK(cuEventRecord(event.event, first.stream));
  TWIN_OK(cuStreamWaitEvent(second.stream, event.event, 0));
  TWIN_OK(cuMemsetD32Async(numbers.address, 0, 32, second.stream));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(cuda_twin_findings(), 0u);
}

}  // namespace streams_test
