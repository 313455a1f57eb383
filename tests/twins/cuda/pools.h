// Two streams and a pool, for tests of stream-ordered memory.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support.h"

namespace cuda_pools_test {

using twin_test::Gpu;
using Words = std::vector<std::uint32_t>;

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

}  // namespace cuda_pools_test
