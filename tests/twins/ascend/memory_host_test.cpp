// Memory of the host: pinned, registered, and the 310B's, which is the device's.
#include "runtime_support.h"

namespace ascend_test {
namespace {

using MemoryHost = TwinTest;

std::uintptr_t address_number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

TEST_F(MemoryHost, PinnedMemoryIsOn64AndNoBetter) {
  for (const std::size_t bytes : {1U, 100U, 4096U, 100000U}) {
    Pinned pinned(bytes);
    EXPECT_EQ(address_number(pinned.address()) % 128, 64U) << bytes;
  }
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_HOST_ALLOCATIONS), 4U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_HOST_ALLOCATIONS), 0U);
}

TEST_F(MemoryHost, CallsCheckTheirArguments) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMallocHost(nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&address, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&address, ~std::size_t{0}), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(&address), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryHost, OnlyTheExactAddressIsFreed) {
  void* address = nullptr;
  ASSERT_EQ(aclrtMallocHost(&address, 128), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_HOST_BYTES), 128U);
  EXPECT_EQ(aclrtFreeHost(static_cast<char*>(address) + 16), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(address), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreeHost(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(address), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_HOST_BYTES), 0U);
}

TEST_F(MemoryHost, AFaultTakesAnAllocation) {
  set("FAIL_HOST_MEMORY", "1");
  void* address = nullptr;
  EXPECT_EQ(aclrtMallocHost(&address, 64), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocHost(&address, 64), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(address), ACL_SUCCESS);
}

TEST_F(MemoryHost, KernelsDoNotReachPinnedMemory) {
  Pinned pinned(64);
  Tensor<float> good(ACL_FLOAT, {2}, {1, 2});
  const std::int64_t shape[] = {2};
  aclTensor* const host =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, pinned.address());
  ASSERT_EQ(add_to(good.get(), host, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  aclDestroyTensor(host);
}

TEST_F(MemoryHost, OfA310BIsTheDevicesAndBadlyAligned) {
  restart({{"PROFILE", "310b"}, {"MEMORY", "65536"}});
  aclrtRunMode mode = ACL_HOST;
  ASSERT_EQ(aclrtGetRunMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_DEVICE);
  std::size_t free = 0, total = 0;
  {
    Pinned pinned(4096);
    EXPECT_EQ(address_number(pinned.address()) % 32, 16U);
    ASSERT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
    EXPECT_EQ(total - free, 4096U);
    pinned.as<float>()[0] = 1;
    pinned.as<float>()[1] = 2;
    Tensor<float> sum(ACL_FLOAT, {2}, {10, 20});
    const std::int64_t shape[] = {2};
    aclTensor* const host =
        aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, pinned.address());
    ASSERT_EQ(add_to(sum.get(), host, 1, nullptr), ACL_SUCCESS);
    ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
    // The host reads the device's memory where it is.
    EXPECT_EQ(static_cast<const float*>(sum.address())[0], 11);
    EXPECT_EQ(static_cast<const float*>(sum.address())[1], 22);
    aclDestroyTensor(host);
    void* more = nullptr;
    EXPECT_EQ(aclrtMallocHost(&more, 65536), ACL_ERROR_RT_MEMORY_ALLOCATION);
  }
  ASSERT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total), ACL_SUCCESS);
  EXPECT_EQ(free, total);
}

/// Two pages of the program's own.
struct OwnPages {
  OwnPages() : address(std::aligned_alloc(4096, 8192)) { std::memset(address, 3, 8192); }
  ~OwnPages() { std::free(address); }
  OwnPages(const OwnPages&) = delete;
  OwnPages& operator=(const OwnPages&) = delete;
  void* address;
};

TEST_F(MemoryHost, RegisteredPagesArePinnedAndDevicesReachThem) {
  restart({{"ORDER", "lazy"}});
  const OwnPages pages;
  void* device = nullptr;
  ASSERT_EQ(aclrtHostRegister(pages.address, 8192, ACL_HOST_REGISTER_MAPPED, &device), ACL_SUCCESS);
  ASSERT_NE(device, nullptr);
  Buffer target(64);
  ASSERT_EQ(
      aclrtMemcpyAsync(target.address(), 64, pages.address, 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr),
      ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count(ASCEND_TWIN_DRAINS), 0U);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  EXPECT_EQ(target.get<std::uint8_t>(), std::vector<std::uint8_t>(64, 3));
  Tensor<std::int32_t> sum(ACL_INT32, {1}, {1});
  const std::int64_t shape[] = {1};
  aclTensor* const host =
      aclCreateTensor(shape, 1, ACL_INT32, nullptr, 0, ACL_FORMAT_ND, shape, 1, device);
  std::int32_t alpha = 1;
  aclScalar* const one = aclCreateScalar(&alpha, ACL_INT32);
  EXPECT_EQ(RUN_OP(Add, sum.get(), host, one, sum.get()), ACL_SUCCESS);
  EXPECT_EQ(sum.values()[0], 0x03030304);
  aclDestroyScalar(one);
  aclDestroyTensor(host);
  EXPECT_EQ(aclrtHostUnregister(pages.address), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(pages.address), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryHost, RegistrationsAreChecked) {
  const OwnPages pages;
  void* device = nullptr;
  auto* const bytes = static_cast<char*>(pages.address);
  const auto add = NEWER(aclrtHostRegisterV2);
  const auto get = NEWER(aclrtHostGetDevicePointer);
  EXPECT_EQ(aclrtHostRegister(nullptr, 4096, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(pages.address, 0, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_MAPPED, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(pages.address, 4096, static_cast<aclrtHostRegisterType>(3), &device),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostRegister(bytes + 64, 4096, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(add(pages.address, 4096, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(add(pages.address, 8192, ACL_HOST_REG_MAPPED), ACL_SUCCESS);
  EXPECT_EQ(add(bytes + 4096, 4096, ACL_HOST_REG_MAPPED), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(get(bytes + 100, &device, 0), ACL_SUCCESS);
  EXPECT_EQ(device, bytes + 100);
  EXPECT_EQ(get(bytes, &device, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(get(nullptr, &device, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostUnregister(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtHostUnregister(pages.address), ACL_SUCCESS);
  EXPECT_EQ(get(bytes, &device, 0), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryHost, The310sRegisterNothing) {
  for (const char* chip : {"310p", "310b"}) {
    restart({{"PROFILE", chip}});
    const OwnPages pages;
    void* device = nullptr;
    EXPECT_EQ(aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_MAPPED, &device),
              ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(aclrtHostUnregister(pages.address), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    EXPECT_EQ(NEWER(aclrtHostGetDevicePointer)(pages.address, &device, 0),
              ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  }
}

TEST_F(MemoryHost, StrictModeObjectsToAFreeUnderAQueuedCopy) {
  restart({{"ORDER", "lazy"}, {"STRICT", "status"}});
  Pinned pinned(64);
  Buffer target(64);
  ASSERT_EQ(aclrtMemcpyAsync(target.address(), 64, pinned.address(), 64, ACL_MEMCPY_HOST_TO_DEVICE,
                             nullptr),
            ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(pinned.address()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("under queued work"));
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
}

}  // namespace
}  // namespace ascend_test
