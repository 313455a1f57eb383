// Memory of devices: sizes, limits, tails, attributes.
#include "runtime_support.h"

namespace ascend_test {
namespace {

using MemoryDevice = TwinTest;

constexpr aclrtMemMallocPolicy kPolicy = ACL_MEM_MALLOC_HUGE_FIRST;

TEST_F(MemoryDevice, CallsCheckTheirArguments) {
  void* address = nullptr;
  std::size_t free = 0, total = 0;
  EXPECT_EQ(aclrtMalloc(nullptr, 64, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&address, 0, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocAlign32(&address, 0, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocCached(&address, 0, kPolicy), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocWithCfg(&address, 0, kPolicy, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(&address), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(NEWER(aclrtFreeWithDevSync)(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemFlush(nullptr, 4), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemInvalidate(&address, 4), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &free, &total), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtGetMemInfo(static_cast<aclrtMemAttr>(17), &free, &total), ACL_SUCCESS);
  EXPECT_EQ(total, 64ULL << 30);
}

TEST_F(MemoryDevice, APolicyThatThereIsNotIsNoError) {
  void* address = nullptr;
  EXPECT_EQ(aclrtMalloc(&address, 64, static_cast<aclrtMemMallocPolicy>(77)), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

/// Bytes that an allocation of 100 takes.
TEST_F(MemoryDevice, SizesAreRoundedUpAndATailFollows) {
  const std::size_t before = free_bytes();
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 100, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 160U);  // 128 and 32
  ASSERT_EQ(aclrtFree(address), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocAlign32(&address, 100, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 128U);
  ASSERT_EQ(aclrtFree(address), ACL_SUCCESS);
  ASSERT_EQ(aclrtMallocCached(&address, 128, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(before - free_bytes(), 160U);
  EXPECT_EQ(aclrtMemFlush(address, 128), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemInvalidate(address, 128), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(address), ACL_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(MemoryDevice, ConfigurationsAreChecked) {
  void* address = nullptr;
  aclrtMallocAttribute attribute = {ACL_RT_MEM_ATTR_MODULE_ID, {}};
  aclrtMallocConfig config = {&attribute, 1};
  EXPECT_EQ(aclrtMallocWithCfg(&address, 64, kPolicy, &config), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
  config.attrs = nullptr;
  EXPECT_EQ(aclrtMallocWithCfg(&address, 64, kPolicy, &config), ACL_ERROR_INVALID_PARAM);
  attribute.attr = static_cast<aclrtMallocAttrType>(9);
  config.attrs = &attribute;
  EXPECT_EQ(aclrtMallocWithCfg(&address, 64, kPolicy, &config), ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryDevice, AFullDeviceSaysSo) {
  restart({{"MEMORY", "4096"}});
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&first, 4096, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_EQ(aclrtMalloc(&first, 4096 - 32, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(free_bytes(), 0U);
  EXPECT_EQ(aclrtMalloc(&second, 1, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtFree(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtMalloc(&second, ~std::size_t{0}, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  set("FULL_MEMORY", "4000");
  EXPECT_EQ(free_bytes(), 96U);
  EXPECT_EQ(aclrtMalloc(&second, 96, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMalloc(&second, 64, kPolicy), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(second), ACL_SUCCESS);
}

TEST_F(MemoryDevice, AFaultTakesAnAllocation) {
  set("FAIL_DEVICE_MEMORY", "2+");
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 64, kPolicy), ACL_SUCCESS);
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, 64, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocAlign32(&second, 64, kPolicy), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);
}

TEST_F(MemoryDevice, FreshMemoryIsNoNumber) {
  Buffer fresh(64);
  EXPECT_EQ(fresh.get<std::uint8_t>(), std::vector<std::uint8_t>(64, 0xFF));
}

TEST_F(MemoryDevice, OnlyTheFirstAddressIsFreed) {
  Buffer buffer(256);
  auto* const inside = static_cast<std::byte*>(buffer.address()) + 64;
  EXPECT_EQ(aclrtFree(inside), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("inside an allocation"));
  EXPECT_EQ(aclrtFreeHost(buffer.address()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("another function"));
}

TEST_F(MemoryDevice, StrictModeObjectsToAWrittenTail) {
  Buffer buffer(100);
  const std::vector<std::uint8_t> more(130);
  ASSERT_EQ(aclrtMemcpy(buffer.address(), 130, more.data(), 130, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_SUCCESS);
  set("STRICT", "status");
  EXPECT_EQ(aclrtFree(buffer.address()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("of the tail"));
  set("STRICT", "off");
}

TEST_F(MemoryDevice, StrictModeObjectsToAFreeUnderQueuedWork) {
  restart({{"ORDER", "lazy"}, {"STRICT", "status"}});
  Buffer buffer(64);
  ASSERT_EQ(aclrtMemsetAsync(buffer.address(), 64, 0, 64, nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(buffer.address()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(objected_to("under queued work"));
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
}

TEST_F(MemoryDevice, TheNewerFreeWaitsForTheDevice) {
  restart({{"ORDER", "lazy"}});
  OwnStream stream;
  void* address = nullptr;
  ASSERT_EQ(aclrtMalloc(&address, 64, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(address, 64, 0, 64, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(NEWER(aclrtFreeWithDevSync)(address), ACL_SUCCESS);
  EXPECT_EQ(sync(stream.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&address, 64, kPolicy), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(address, 64, 0, 64, stream.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(address), ACL_SUCCESS);  // at once: the work finds no memory
  EXPECT_EQ(sync(stream.get()), ACL_ERROR_RT_AICORE_EXCEPTION);
}

TEST_F(MemoryDevice, AttributesTellWhereMemoryIs) {
  restart({{"DEVICES", "2"}});
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  {
    Buffer small(64), large(2 << 20);
    Pinned pinned(64);
    int own = 0;
    aclrtPtrAttributes attributes;
    ASSERT_EQ(aclrtPointerGetAttributes(small.address(), &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(attributes.location.id, 1U);
    EXPECT_EQ(attributes.pageSize, 4096U);
    ASSERT_EQ(aclrtPointerGetAttributes(large.address(), &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.pageSize, 2U << 20);
    ASSERT_EQ(aclrtPointerGetAttributes(pinned.address(), &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    ASSERT_EQ(aclrtPointerGetAttributes(&own, &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
    EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtPointerGetAttributes(&own, nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(sizeof attributes, 28U);
    EXPECT_EQ(offsetof(aclrtMemLocation, id), 0U);
  }
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
}

using MemoryDeviceDeathTest = TwinTest;

TEST_F(MemoryDeviceDeathTest, TheHostCannotTouchADevice) {
  Buffer buffer(64);
  EXPECT_DEATH(*static_cast<volatile char*>(buffer.address()) = 1, "");
}

}  // namespace
}  // namespace ascend_test
