// Stream-ordered memory: pools.
#include "pools.h"

namespace cuda_pools_test {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

TEST_F(PoolsTest, MemoryIsUsableInItsStream) {
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuMemsetD32Async(address, 17, 16, a_));
  Words back(16);
  TWIN_OK(cuMemcpyDtoHAsync(back.data(), address, 64, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(back, Words(16, 17));
}

TEST_F(PoolsTest, ABeginningOfTheFreeEndsTheHandleAtOnce) {
  const CUdeviceptr address = allocate(64, a_);
  EXPECT_EQ(cuMemFreeAsync(address + 4, a_), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemFreeAsync(address, a_));
  EXPECT_EQ(cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE) << "freed twice";
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(0, a_), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr none = 0;
  EXPECT_EQ(cuMemAllocAsync(&none, 0, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(nullptr, 8, a_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolsTest, MemoryOfOtherKindsIsNotFreedInStreams) {
  CUdeviceptr plain = 0;
  TWIN_OK(cuMemAlloc(&plain, 64));
  const CUresult code = cuMemFreeAsync(plain, a_);
  EXPECT_EQ(code, CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemFree(plain));
}

TEST_F(PoolsTest, AUseBeforeTheAllocationsTurnFaults) {
  Words back(1);
  CUdeviceptr address = 0;
  {
    const Gate gate(a_);
    address = allocate(64, a_);
    TWIN_OK(cuMemsetD32Async(address, 1, 1, b_));
    EXPECT_EQ(cuStreamSynchronize(b_), CUDA_ERROR_ILLEGAL_ADDRESS) << "b does not wait for a";
  }
}

TEST_F(PoolsTest, AUseAfterTheFreesTurnFaults) {
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuMemsetD32Async(address, 1, 16, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  const std::string text = twin_test::module(
      ".visible .entry touch(.param .u64 p) { .reg .b64 %a; .reg .b32 %x;\n"
      "  ld.param.u64 %a, [p];\n  ld.global.u32 %x, [%a];\n  ret; }");
  CUdeviceptr copy = address;
  EXPECT_EQ(twin_test::launch(text, "touch", {}, {}, {&copy}), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(PoolsTest, AnotherStreamUsesTheMemoryBetweenEvents) {
  CUevent made = nullptr, used_up = nullptr;
  TWIN_OK(cuEventCreate(&made, 0));
  TWIN_OK(cuEventCreate(&used_up, 0));
  for (int i = 0; i < 10; ++i) {
    const CUdeviceptr address = allocate(256, a_);
    TWIN_OK(cuEventRecord(made, a_));
    TWIN_OK(cuStreamWaitEvent(b_, made, 0));
    TWIN_OK(cuMemsetD32Async(address, 1, 64, b_));
    TWIN_OK(cuEventRecord(used_up, b_));
    TWIN_OK(cuStreamWaitEvent(a_, used_up, 0));
    TWIN_OK(cuMemFreeAsync(address, a_));
  }
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(cuda_twin_findings(), 0u);
  TWIN_OK(cuEventDestroy(made));
  TWIN_OK(cuEventDestroy(used_up));
}

TEST_F(PoolsTest, PlainFreeWaitsForTheWork) {
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuMemsetD32Async(address, 1, 16, a_));
  TWIN_OK(cuMemFree(address));
  EXPECT_EQ(used(), 0u);
}

TEST_F(PoolsTest, ThePoolGrowsInBlocksAndShrinksAtASynchronization) {
  const std::size_t before = free_bytes();
  EXPECT_EQ(reserved(), 0u);
  const CUdeviceptr first = allocate(100, a_);
  EXPECT_EQ(used(), 512u) << "sizes are rounded up";
  EXPECT_EQ(reserved(), 32 * kMegabyte);
  EXPECT_EQ(before - free_bytes(), 32 * kMegabyte);
  const CUdeviceptr second = allocate(40 * kMegabyte, a_);
  EXPECT_EQ(reserved(), 64 * kMegabyte);
  TWIN_OK(cuMemFreeAsync(second, a_));
  EXPECT_EQ(used(), 512u);
  EXPECT_EQ(reserved(), 64 * kMegabyte) << "until the host synchronizes";
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(reserved(), 32 * kMegabyte);
  TWIN_OK(cuMemFreeAsync(first, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(reserved(), 0u);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(number(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 64 * kMegabyte);
  EXPECT_EQ(number(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 40 * kMegabyte + 512);
}

TEST_F(PoolsTest, AStreamReusesItsOwnMemoryBeforeTheFreeHasRun) {
  set(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~std::uint64_t{0});
  const Gate gate(a_);
  for (int i = 0; i < 5; ++i) TWIN_OK(cuMemFreeAsync(allocate(20 * kMegabyte, a_), a_));
  EXPECT_EQ(reserved(), 32 * kMegabyte) << "20 MB at a time";
  const CUdeviceptr other = allocate(20 * kMegabyte, b_);
  TWIN_OK(cuMemFreeAsync(other, b_));
  EXPECT_GT(reserved(), 32 * kMegabyte) << "b cannot count on a's free before its turn";
}

TEST_F(PoolsTest, TheThresholdKeepsMemoryAndTrimGivesItBack) {
  set(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 64 * kMegabyte);
  EXPECT_EQ(number(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 64 * kMegabyte);
  TWIN_OK(cuMemFreeAsync(allocate(100 * kMegabyte, a_), a_));
  EXPECT_EQ(reserved(), 128 * kMegabyte);
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(reserved(), 64 * kMegabyte);
  TWIN_OK(cuMemPoolTrimTo(pool_, 40 * kMegabyte));
  EXPECT_EQ(reserved(), 64 * kMegabyte) << "at least that much stays, in whole blocks";
  TWIN_OK(cuMemPoolTrimTo(pool_, 32 * kMegabyte));
  EXPECT_EQ(reserved(), 32 * kMegabyte);
  TWIN_OK(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(reserved(), 0u);
  set(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, ~std::uint64_t{0});
  TWIN_OK(cuMemFreeAsync(allocate(100 * kMegabyte, a_), a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(reserved(), 128 * kMegabyte) << "the largest threshold keeps all";
}

TEST_F(PoolsTest, AttributesAreReadAndSet) {
  for (const auto flag :
       {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
    int value = 9;
    TWIN_OK(cuMemPoolGetAttribute(pool_, flag, &value));
    EXPECT_EQ(value, 1);
    value = 0;
    TWIN_OK(cuMemPoolSetAttribute(pool_, flag, &value));
    value = 9;
    TWIN_OK(cuMemPoolGetAttribute(pool_, flag, &value));
    EXPECT_EQ(value, 0);
  }
  std::uint64_t value = 1;
  EXPECT_EQ(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value),
            CUDA_ERROR_INVALID_VALUE)
      << "a high mark goes to 0 only";
  const CUdeviceptr address = allocate(512, a_);
  TWIN_OK(cuMemFreeAsync(allocate(4096, a_), a_));
  EXPECT_EQ(number(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 4608u);
  set(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0);
  EXPECT_EQ(number(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 512u) << "that in use now";
  TWIN_OK(cuMemFreeAsync(address, a_));
  EXPECT_EQ(cuMemPoolGetAttribute(pool_, static_cast<CUmemPool_attribute>(15), &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolGetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolsTest, PoolsAreMadeAndBecomeTheDevices) {
  CUmemoryPool mine = nullptr;
  CUmemPoolProps made = props();
  TWIN_OK(cuMemPoolCreate(&mine, &made));
  const CUdeviceptr address = [&] {
    CUdeviceptr at = 0;
    TWIN_OK(cuMemAllocFromPoolAsync(&at, 1000, mine, a_));
    return at;
  }();
  EXPECT_EQ(number(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024u);
  EXPECT_EQ(used(), 0u);
  CUmemoryPool current = nullptr;
  TWIN_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool_);
  TWIN_OK(cuDeviceSetMemPool(0, mine));
  const CUdeviceptr second = allocate(512, a_);
  EXPECT_EQ(number(mine, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1536u);
  CUmemoryPool of_pointer = nullptr;
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, second));
  EXPECT_EQ(of_pointer, mine);
  // It ends when its memory has: until then the device's memory stays charged.
  const std::size_t before = free_bytes();
  TWIN_OK(cuMemPoolDestroy(mine));
  EXPECT_EQ(cuMemPoolDestroy(mine), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool_) << "the default pool again";
  EXPECT_EQ(free_bytes(), before);
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuMemFreeAsync(second, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_GT(free_bytes(), before);
  EXPECT_EQ(cuMemPoolDestroy(pool_), CUDA_ERROR_INVALID_VALUE) << "the default pool stays";
  CUdeviceptr none = 0;
  EXPECT_EQ(cuMemAllocFromPoolAsync(&none, 8, mine, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceSetMemPool(0, mine), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolsTest, PropertiesOfPoolsAreChecked) {
  CUmemoryPool mine = nullptr;
  EXPECT_EQ(cuMemPoolCreate(&mine, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUmemPoolProps wrong = props();
  wrong.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_EQ(cuMemPoolCreate(&mine, &wrong), CUDA_ERROR_INVALID_VALUE);
  wrong = props();
  wrong.location.id = 9;
  EXPECT_EQ(cuMemPoolCreate(&mine, &wrong), CUDA_ERROR_INVALID_DEVICE);
  wrong = props();
  wrong.reserved[3] = 1;
  EXPECT_EQ(cuMemPoolCreate(&mine, &wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetDefaultMemPool(&mine, 9), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(PoolsTest, APoolHasALargestSizeIfItWasGiven) {
  CUmemoryPool mine = nullptr;
  CUmemPoolProps made = props();
  made.maxSize = 4 * kMegabyte;
  TWIN_OK(cuMemPoolCreate(&mine, &made));
  CUdeviceptr first = 0, second = 0;
  TWIN_OK(cuMemAllocFromPoolAsync(&first, 3 * kMegabyte, mine, a_));
  EXPECT_EQ(cuMemAllocFromPoolAsync(&second, 2 * kMegabyte, mine, a_), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemAllocFromPoolAsync(&second, kMegabyte, mine, a_));
  TWIN_OK(cuMemFreeAsync(first, a_));
  TWIN_OK(cuMemFreeAsync(second, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuMemPoolDestroy(mine));
}

TEST_F(PoolsTest, AccessOfTheOwnDeviceCannotBeTakenAway) {
  CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  TWIN_OK(cuMemPoolSetAccess(pool_, &desc, 1));
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  EXPECT_EQ(cuMemPoolSetAccess(pool_, &desc, 1), CUDA_ERROR_INVALID_VALUE);
  CUmemAccess_flags flags{};
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  TWIN_OK(cuMemPoolGetAccess(&flags, pool_, &location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_F(PoolsTest, AFullDeviceRefusesAtTheCall) {
  std::size_t free = 0, total = 0;
  TWIN_OK(cuMemGetInfo(&free, &total));
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocAsync(&address, total + 1, a_), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FAIL_ALLOCATION", "2"), 1);
  const CUdeviceptr fine = allocate(8, a_);
  EXPECT_EQ(cuMemAllocAsync(&address, 8, a_), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(used(), 512u);
  TWIN_OK(cuMemFreeAsync(fine, a_));
  TWIN_OK(cuStreamSynchronize(a_));
}

TEST_F(PoolsTest, MemoryEndsWithTheContextWhoseStreamAllocatedIt) {
  CUcontext other = nullptr;
  TWIN_OK(cuCtxCreate(&other, nullptr, 0, gpu_.device));
  CUstream stream = nullptr;
  TWIN_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr kept = allocate(64, stream);
  const CUdeviceptr freed = allocate(64, stream);
  TWIN_OK(cuStreamSynchronize(stream));
  const Gate gate(stream);
  TWIN_OK(cuMemFreeAsync(freed, stream));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 2u);
  gate.open();
  TWIN_OK(cuCtxDestroy(other));
  TWIN_OK(cuCtxSetCurrent(gpu_.context));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 0u);
  EXPECT_EQ(used(), 0u);
  TWIN_OK(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(reserved(), 0u);
  EXPECT_EQ(cuMemFreeAsync(kept, a_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PoolsTest, ThreadsAllocateAndFreeInStreamsOfTheirOwn) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      CUstream mine = nullptr;
      if (cuCtxSetCurrent(gpu_.context) != CUDA_SUCCESS ||
          cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        ++wrong;
      for (std::uint32_t i = 0; i < 50; ++i) {
        CUdeviceptr address = 0;
        std::uint32_t back[8] = {};
        if (cuMemAllocAsync(&address, 32 + i * 100, mine) != CUDA_SUCCESS ||
            cuMemsetD32Async(address, t * 1000 + i, 8, mine) != CUDA_SUCCESS ||
            cuMemcpyDtoHAsync(back, address, 32, mine) != CUDA_SUCCESS ||
            cuMemFreeAsync(address, mine) != CUDA_SUCCESS ||
            cuStreamSynchronize(mine) != CUDA_SUCCESS)
          ++wrong;
        for (const std::uint32_t word : back)
          if (word != t * 1000 + i) ++wrong;
      }
      if (cuStreamDestroy(mine) != CUDA_SUCCESS) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(used(), 0u);
}

TEST_F(PoolsTest, ThreadUsesMemoryWhileItsPoolsAccessIsSet) {
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuStreamSynchronize(a_));
  const CUmemAccessDesc own = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::atomic<bool> over{false};
  int failed = 0;
  std::thread user([&] {
    TWIN_OK(cuCtxSetCurrent(gpu_.context));
    while (!over)
      if (cuMemsetD32(address, 1, 4) != CUDA_SUCCESS) ++failed;
  });
  for (int i = 0; i < 3000; ++i) TWIN_OK(cuMemPoolSetAccess(pool_, &own, 1));
  over = true;
  user.join();
  EXPECT_EQ(failed, 0);
  TWIN_OK(cuMemFree(address));
}

TEST(CudaPools, ThreadsSetTheAccessOfDifferentDevices) {
  cuda_twin_reset_settings();
  cuda_twin_reset();
  cuda_twin_set("CUDA_TWIN_DEVICES", "3");
  TWIN_OK(cuInit(0));
  CUmemoryPool pool = nullptr;
  TWIN_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const int device : {1, 2}) {
    threads.emplace_back([&wrong, pool, device] {
      for (int i = 0; i < 2000; ++i) {
        CUmemLocation place = {CU_MEM_LOCATION_TYPE_DEVICE, device};
        const CUmemAccessDesc wanted = {
            place, i % 2 == 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CUmemAccess_flags got{};
        if (cuMemPoolSetAccess(pool, &wanted, 1) != CUDA_SUCCESS ||
            cuMemPoolGetAccess(&got, pool, &place) != CUDA_SUCCESS || got != wanted.flags)
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  cuda_twin_reset();
  cuda_twin_reset_settings();
}

}  // namespace
}  // namespace cuda_pools_test
