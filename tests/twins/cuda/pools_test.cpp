// Stream-ordered memory: pools, and the memory of graphs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support.h"

namespace cuda_pools_test {
namespace {

using twin_test::Gpu;
using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

class PoolsTest : public testing::Test {
 protected:
  PoolsTest() {
    TWIN_OK(cuStreamCreate(&a_, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuStreamCreate(&b_, CU_STREAM_NON_BLOCKING));
    TWIN_OK(cuDeviceGetDefaultMemPool(&pool_, gpu_.device));
  }
  ~PoolsTest() override {
    (void)cuStreamDestroy(a_);
    (void)cuStreamDestroy(b_);
  }
  static CUdeviceptr allocate(std::size_t bytes, CUstream stream) {
    CUdeviceptr address = 0;
    TWIN_OK(cuMemAllocAsync(&address, bytes, stream));
    return address;
  }
  static std::uint64_t number(CUmemoryPool pool, CUmemPool_attribute attribute) {
    std::uint64_t value = ~std::uint64_t{0};
    TWIN_OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  std::uint64_t reserved() const { return number(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
  std::uint64_t used() const { return number(pool_, CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
  static void set(CUmemoryPool pool, CUmemPool_attribute attribute, std::uint64_t value) {
    TWIN_OK(cuMemPoolSetAttribute(pool, attribute, &value));
  }
  static CUmemPoolProps props() {
    CUmemPoolProps made{};
    made.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return made;
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    TWIN_OK(cuMemGetInfo(&free, &total));
    return free;
  }
  /// Holds a stream up until it is opened. The stream's thread may outlive it.
  class Gate {
   public:
    explicit Gate(CUstream stream) {
      TWIN_OK(cuLaunchHostFunc(
          stream,
          [](void* user) {
            const std::unique_ptr<std::shared_ptr<State>> mine(
                static_cast<std::shared_ptr<State>*>(user));
            (*mine)->entered = true;
            while (!(*mine)->open) std::this_thread::yield();
          },
          new std::shared_ptr<State>(state_)));
      while (!state_->entered) std::this_thread::yield();
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    ~Gate() { open(); }
    void open() const { state_->open = true; }

   private:
    struct State {
      std::atomic<bool> entered{false}, open{false};
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
  };

  Gpu gpu_;
  CUstream a_ = nullptr, b_ = nullptr;
  CUmemoryPool pool_ = nullptr;
};

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

// Memory of graphs.

class GraphMemoryTest : public PoolsTest {
 protected:
  GraphMemoryTest() { TWIN_OK(cuGraphCreate(&graph_, 0)); }
  ~GraphMemoryTest() override { (void)cuGraphDestroy(graph_); }

  CUgraphNode add_allocation(std::size_t bytes, CUdeviceptr* address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps = props();
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params));
    *address = params.dptr;
    return node;
  }
  CUgraphNode add_fill(CUdeviceptr address, std::uint32_t value, CUgraphNode after) {
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = address;
    params.elementSize = 4;
    params.value = value;
    params.width = 4;
    params.height = 1;
    CUgraphNode node = nullptr;
    TWIN_OK(cuGraphAddMemsetNode(&node, graph_, &after, 1, &params, nullptr));
    return node;
  }
  Words read(CUdeviceptr address) {
    Words back(4);
    TWIN_OK(cuMemcpyDtoHAsync(back.data(), address, 16, a_));
    TWIN_OK(cuStreamSynchronize(a_));
    return back;
  }
  CUgraph graph_ = nullptr;
};

TEST_F(GraphMemoryTest, AGraphAllocatesUsesAndFrees) {
  CUdeviceptr address = 0;
  CUgraphNode node = add_allocation(64, &address);
  node = add_fill(address, 5, node);
  CUdeviceptr result = 0;
  TWIN_OK(cuMemAlloc(&result, 16));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = address;
  copy.dstDevice = result;
  copy.WidthInBytes = 16;
  copy.Height = copy.Depth = 1;
  CUgraphNode copied = nullptr;
  TWIN_OK(cuGraphAddMemcpyNode(&copied, graph_, &node, 1, &copy, nullptr));
  CUgraphNode freed = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, address));
  CUgraphNodeType type{};
  TWIN_OK(cuGraphNodeGetType(freed, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, graph_, &copied, 1, address), CUDA_ERROR_INVALID_VALUE)
      << "freed twice";
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(read(result), Words(4, 5));
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE) << "the graph frees it";
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuMemFree(result));
}

TEST_F(GraphMemoryTest, MemoryThatAGraphLeavesIsUsableUntilItIsFreed) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  add_fill(address, 8, node);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  EXPECT_EQ(cuMemFreeAsync(address, a_), CUDA_ERROR_INVALID_VALUE) << "no launch has made it";
  TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(used(), 512u);
  EXPECT_EQ(read(address), Words(4, 8));
  EXPECT_EQ(cuGraphLaunch(exec, a_), CUDA_ERROR_INVALID_VALUE) << "it is not freed";
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 1u);
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuGraphLaunch(exec, a_));
  EXPECT_EQ(read(address), Words(4, 8)) << "at the same address again";
  TWIN_OK(cuMemFree(address));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphMemoryTest, AUseAfterTheFreeFaultsWhileTheGraphIsAlive) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuMemsetD32Async(address, 1, 4, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuMemsetD32Async(address, 2, 4, a_));
  EXPECT_EQ(cuStreamSynchronize(a_), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(GraphMemoryTest, MemoryOutlivesItsGraphUntilItIsFreed) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  add_fill(address, 8, node);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuGraphDestroy(graph_));
  EXPECT_EQ(read(address), Words(4, 8));
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 0u);
}

TEST_F(GraphMemoryTest, AnotherGraphFreesTheMemory) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, nullptr, 0, address));
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, address), CUDA_ERROR_INVALID_VALUE)
      << "another graph frees it";
  CUgraphExec makes = nullptr, frees = nullptr;
  TWIN_OK(cuGraphInstantiate(&makes, graph_, 0));
  TWIN_OK(cuGraphInstantiate(&frees, second, 0));
  EXPECT_EQ(cuGraphLaunch(frees, a_), CUDA_ERROR_INVALID_VALUE) << "nothing to free";
  for (int i = 0; i < 3; ++i) {
    TWIN_OK(cuGraphLaunch(makes, a_));
    TWIN_OK(cuGraphLaunch(frees, a_));
  }
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  TWIN_OK(cuGraphExecDestroy(makes));
  TWIN_OK(cuGraphExecDestroy(frees));
  TWIN_OK(cuGraphDestroy(second));
}

TEST_F(GraphMemoryTest, ALaunchThatFailsFreesNothing) {
  CUdeviceptr made = 0, missing = 0;
  add_allocation(64, &made);
  CUgraphExec makes = nullptr, frees = nullptr;
  TWIN_OK(cuGraphInstantiate(&makes, graph_, 0));
  const CUgraph launched = graph_;
  TWIN_OK(cuGraphCreate(&graph_, 0));
  add_allocation(64, &missing);  // of a graph that is never launched
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  CUgraphNode node = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, nullptr, 0, made));
  TWIN_OK(cuGraphAddMemFreeNode(&node, second, &node, 1, missing));
  TWIN_OK(cuGraphInstantiate(&frees, second, 0));
  TWIN_OK(cuGraphLaunch(makes, a_));
  EXPECT_EQ(cuGraphLaunch(frees, a_), CUDA_ERROR_INVALID_VALUE) << "one is not allocated";
  TWIN_OK(cuMemsetD32Async(made, 1, 16, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 512u);
  TWIN_OK(cuMemFreeAsync(made, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  for (const CUgraphExec exec : {makes, frees}) TWIN_OK(cuGraphExecDestroy(exec));
  for (const CUgraph graph : {launched, second}) TWIN_OK(cuGraphDestroy(graph));
}

/// Memory may be freed by a node again when no graph has the node that would have freed it.
TEST_F(GraphMemoryTest, AFreeThatCameToNothingIsForgotten) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  CUgraphNode freed = nullptr;
  TWIN_OK(cuStreamBeginCapture(b_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  TWIN_OK(cuMemFreeAsync(address, b_));
  EXPECT_EQ(cuMemFreeAsync(address, b_), CUDA_ERROR_INVALID_VALUE) << "twice in a graph";
  CUgraph captured = nullptr;
  EXPECT_EQ(cuStreamEndCapture(b_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph second = nullptr;
  TWIN_OK(cuGraphCreate(&second, 0));
  TWIN_OK(cuGraphAddMemFreeNode(&freed, second, nullptr, 0, address));
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, second, nullptr, 0, address), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphDestroy(second));
  TWIN_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuGraphAddMemFreeNode(&freed, graph_, &node, 1, address), CUDA_ERROR_INVALID_CONTEXT);
  TWIN_OK(cuCtxSetCurrent(gpu_.context));
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, &node, 1, address));
}

TEST_F(GraphMemoryTest, AnInstanceMayFreeItsMemoryAtTheNextLaunch) {
  CUdeviceptr address = 0;
  add_allocation(64, &address);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  for (int i = 0; i < 3; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 512u);
  TWIN_OK(cuMemFreeAsync(address, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphMemoryTest, GraphsWithMemoryHaveOneInstanceAndNoCopies) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  const CUgraphNode after = add_fill(address, 1, node);
  CUgraph other = nullptr;
  EXPECT_EQ(cuGraphClone(&other, graph_), CUDA_ERROR_NOT_SUPPORTED);
  TWIN_OK(cuGraphCreate(&other, 0));
  CUgraphNode child = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, other, nullptr, 0, graph_), CUDA_ERROR_NOT_SUPPORTED);
  TWIN_OK(cuGraphDestroy(other));
  EXPECT_EQ(cuGraphDestroyNode(after), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph_, &node, &after, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec first = nullptr, second = nullptr;
  TWIN_OK(cuGraphInstantiate(&first, graph_, 0));
  EXPECT_EQ(cuGraphInstantiate(&second, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuGraphExecDestroy(first));
  TWIN_OK(cuGraphInstantiate(&second, graph_, 0));
  TWIN_OK(cuGraphExecDestroy(second));
}

TEST_F(GraphMemoryTest, AFreeMustComeAfterTheAllocation) {
  CUdeviceptr address = 0;
  const CUgraphNode node = add_allocation(64, &address);
  CUgraphNode freed = nullptr;
  TWIN_OK(cuGraphAddMemFreeNode(&freed, graph_, nullptr, 0, address));
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_EQ(params.hErrNode_out, freed);
  TWIN_OK(cuGraphAddDependencies(graph_, &node, &freed, nullptr, 1));
  TWIN_OK(cuGraphInstantiate(&exec, graph_, 0));
  TWIN_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphMemoryTest, ParametersOfMemoryNodesAreChecked) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps = props();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE)
      << "0 bytes";
  params.bytesize = 8;
  params.poolProps.location.id = 9;
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, 64), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr plain = allocate(64, a_);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, nullptr, 0, plain), CUDA_ERROR_INVALID_VALUE)
      << "no memory of a graph";
  TWIN_OK(cuMemFreeAsync(plain, a_));
  TWIN_OK(cuStreamSynchronize(a_));
}

TEST_F(GraphMemoryTest, CaptureTurnsStreamOrderedMemoryIntoNodes) {
  TWIN_OK(cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  const CUdeviceptr address = allocate(64, a_);
  TWIN_OK(cuMemsetD32Async(address, 6, 4, a_));
  TWIN_OK(cuMemFreeAsync(address, a_));
  EXPECT_EQ(used(), 0u) << "a capture allocates nothing";
  CUgraph captured = nullptr;
  TWIN_OK(cuStreamEndCapture(a_, &captured));
  std::vector<CUgraphNode> nodes(3);
  std::size_t count = 3;
  TWIN_OK(cuGraphGetNodes(captured, nodes.data(), &count));
  ASSERT_EQ(count, 3u);
  CUgraphNodeType type{};
  TWIN_OK(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  TWIN_OK(cuGraphNodeGetType(nodes[2], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  CUgraphExec exec = nullptr;
  TWIN_OK(cuGraphInstantiate(&exec, captured, 0));
  for (int i = 0; i < 2; ++i) TWIN_OK(cuGraphLaunch(exec, a_));
  TWIN_OK(cuStreamSynchronize(a_));
  EXPECT_EQ(used(), 0u);
  TWIN_OK(cuGraphExecDestroy(exec));
  TWIN_OK(cuGraphDestroy(captured));
  // Memory that no graph allocated cannot be freed in a capture.
  const CUdeviceptr plain = allocate(64, a_);
  TWIN_OK(cuStreamBeginCapture(a_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemFreeAsync(plain, a_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamEndCapture(a_, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  TWIN_OK(cuMemFreeAsync(plain, a_));
  TWIN_OK(cuStreamSynchronize(a_));
}

}  // namespace
}  // namespace cuda_pools_test
