// Virtual memory: reservations, physical memory, and the one mapped into the other.
#include "runtime_support.h"

namespace ascend_test {
namespace {

using MemoryVirtual = TwinTest;

constexpr std::size_t kHugePage = 2 << 20;

aclrtPhysicalMemProp physical_properties(std::uint32_t device = 0) {
  aclrtPhysicalMemProp made = {};
  made.memAttr = ACL_HBM_MEM_HUGE;
  made.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
  return made;
}

/// Four pages of addresses.
class MemoryVirtualReserved : public TwinTest {
 protected:
  MemoryVirtualReserved() { reserve_again({}); }
  void reserve_again(const std::vector<std::pair<std::string, std::string>>& settings) {
    restart(settings);
    EXPECT_EQ(aclrtReserveMemAddress(&base_, 4 * kHugePage, 0, nullptr, 1), ACL_SUCCESS);
  }
  void* at(std::size_t page) const { return static_cast<std::byte*>(base_) + page * kHugePage; }
  static aclrtDrvMemHandle physical(std::size_t pages = 1) {
    const aclrtPhysicalMemProp wanted = physical_properties();
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMallocPhysical(&handle, pages * kHugePage, &wanted, 0), ACL_SUCCESS);
    return handle;
  }
  aclError map(std::size_t page, aclrtDrvMemHandle handle, std::size_t pages = 1) const {
    return aclrtMapMem(at(page), pages * kHugePage, 0, handle, 0);
  }

  void* base_ = nullptr;
};

TEST_F(MemoryVirtual, TheVendorsStructuresHaveItsLayout) {
  EXPECT_EQ(sizeof(aclrtPhysicalMemProp), 32U);
  EXPECT_EQ(offsetof(aclrtPhysicalMemProp, memAttr), 8U);
  EXPECT_EQ(offsetof(aclrtPhysicalMemProp, location.id), 12U);
  EXPECT_EQ(offsetof(aclrtPhysicalMemProp, location.type), 16U);
  EXPECT_EQ(offsetof(aclrtPhysicalMemProp, reserve), 24U);
}

TEST_F(MemoryVirtual, GranularityIsOfTheAttribute) {
  aclrtPhysicalMemProp wanted = physical_properties();
  std::size_t bytes = 0;
  const auto get = [&](aclrtMemGranularityOptions option) {
    return aclrtMemGetAllocationGranularity(&wanted, option, &bytes);
  };
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM), ACL_SUCCESS);
  EXPECT_EQ(bytes, kHugePage);
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF), ACL_ERROR_INVALID_PARAM);
  wanted.memAttr = ACL_HBM_MEM_HUGE1G;
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED), ACL_SUCCESS);
  EXPECT_EQ(bytes, 1U << 30);
  wanted.memAttr = static_cast<aclrtMemAttr>(18);
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM), ACL_ERROR_INVALID_PARAM);
  wanted = physical_properties(4);
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM), ACL_ERROR_RT_INVALID_DEVICEID);
  wanted = physical_properties();
  wanted.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(get(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(
      aclrtMemGetAllocationGranularity(&wanted, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, nullptr),
      ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationGranularity(nullptr, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &bytes),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryVirtual, A310BHasNone) {
  restart({{"PROFILE", "310b"}});
  aclrtPhysicalMemProp wanted = physical_properties();
  void* address = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  std::size_t bytes = 0;
  aclrtMemAccessDesc access = {ACL_RT_MEM_ACCESS_FLAGS_READWRITE, wanted.location, {}};
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&wanted, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &bytes),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kHugePage, 0, nullptr, 0),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtReleaseMemAddress(&address), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHugePage, &wanted, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtFreePhysical(&handle), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMapMem(&address, kHugePage, 0, &handle, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtUnmapMem(&address), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(NEWER(aclrtMemSetAccess)(&address, kHugePage, &access, 1),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(MemoryVirtualReserved, CallsCheckTheirArguments) {
  void* address = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp wanted = physical_properties();
  EXPECT_EQ(aclrtReserveMemAddress(nullptr, kHugePage, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, 0, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kHugePage, 64, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kHugePage, 0, &handle, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kHugePage, 0, nullptr, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, ~std::size_t{0}, 0, nullptr, 0),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtReleaseMemAddress(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReleaseMemAddress(at(1)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMallocPhysical(nullptr, kHugePage, &wanted, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHugePage, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHugePage, &wanted, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHugePage + 1, &wanted, 0), ACL_ERROR_RT_PARAM_INVALID);
  wanted.handleType = static_cast<aclrtMemHandleType>(1);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kHugePage, &wanted, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreePhysical(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreePhysical(&wanted), ACL_ERROR_RT_PARAM_INVALID);
  handle = physical();
  EXPECT_EQ(aclrtMapMem(nullptr, kHugePage, 0, handle, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(at(0), kHugePage, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(at(0), kHugePage, 64, handle, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(at(0), kHugePage, 0, handle, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(at(0), 2 * kHugePage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(&wanted, kHugePage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(static_cast<char*>(at(0)) + 4096, kHugePage, 0, handle, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(at(0), kHugePage, 0, &wanted, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(map(4, handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnmapMem(&wanted), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(at(0)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base_), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base_), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryVirtualReserved, MappedPagesAreMemoryAcrossTheirBorders) {
  const aclrtDrvMemHandle first = physical(), second = physical();
  ASSERT_EQ(map(0, first), ACL_SUCCESS);
  ASSERT_EQ(map(1, second), ACL_SUCCESS);
  void* const across = static_cast<std::byte*>(at(1)) - 8;
  const float values[] = {1, 2, 3, 4};
  ASSERT_EQ(aclrtMemcpy(across, 16, values, 16, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  const std::int64_t shape[] = {4};
  aclTensor* const tensor =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, across);
  ASSERT_EQ(add_to(tensor, tensor, 1, nullptr), ACL_SUCCESS);
  ASSERT_EQ(sync(nullptr), ACL_SUCCESS);
  float doubled[4] = {};
  ASSERT_EQ(aclrtMemcpy(doubled, 16, across, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(doubled[i], 2 * values[i]);
  ASSERT_EQ(aclrtUnmapMem(at(1)), ACL_SUCCESS);
  ASSERT_EQ(add_to(tensor, tensor, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_EQ(aclrtMemcpy(doubled, 16, across, 16, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_TRUE(refused_with("nothing is mapped"));
  aclDestroyTensor(tensor);
  ASSERT_EQ(aclrtUnmapMem(at(0)), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(second), ACL_SUCCESS);
}

TEST_F(MemoryVirtualReserved, PhysicalMemoryKeepsItsBytesUnderAnotherAddress) {
  const aclrtDrvMemHandle handle = physical();
  std::uint32_t value = 42;
  ASSERT_EQ(map(0, handle), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpy(at(0), 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnmapMem(at(0)), ACL_SUCCESS);
  ASSERT_EQ(map(3, handle), ACL_SUCCESS);
  value = 0;
  ASSERT_EQ(aclrtMemcpy(&value, 4, at(3), 4, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(value, 42U);
  ASSERT_EQ(aclrtUnmapMem(at(3)), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
}

TEST_F(MemoryVirtualReserved, MappingsDoNotOverlapAndHoldTheirReservation) {
  const aclrtDrvMemHandle one = physical(), two = physical(2);
  ASSERT_EQ(map(1, two, 2), ACL_SUCCESS);
  EXPECT_EQ(map(2, one), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(map(3, two, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(map(3, one), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(at(2)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReleaseMemAddress(base_), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(at(1)), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(at(3)), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(one), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(two), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base_), ACL_SUCCESS);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_RESERVED_RANGES), 0U);
  EXPECT_EQ(ascend_twin_count_live(ASCEND_TWIN_LIVE_PHYSICAL_HANDLES), 0U);
}

TEST_F(MemoryVirtualReserved, MemoryIsTheDevicesUntilTheLastUnmap) {
  const std::size_t before = free_bytes();
  const aclrtDrvMemHandle handle = physical();
  EXPECT_EQ(before - free_bytes(), kHugePage);
  ASSERT_EQ(map(0, handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(before - free_bytes(), kHugePage);
  EXPECT_EQ(aclrtMemset(at(0), kHugePage, 0, kHugePage), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnmapMem(at(0)), ACL_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(MemoryVirtualReserved, AFullDeviceSaysSo) {
  reserve_again({{"MEMORY", "4194304"}});
  const aclrtDrvMemHandle handle = physical(2);
  const aclrtPhysicalMemProp wanted = physical_properties();
  aclrtDrvMemHandle more = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&more, kHugePage, &wanted, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocPhysical(&more, kHugePage, &wanted, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(more), ACL_SUCCESS);
}

TEST_F(MemoryVirtualReserved, AFaultTakesEachKind) {
  const aclrtPhysicalMemProp wanted = physical_properties();
  const aclrtDrvMemHandle handle = physical();
  void* address = nullptr;
  aclrtDrvMemHandle more = nullptr;
  set("FAIL_VIRTUAL_MEMORY", "1+");
  EXPECT_EQ(aclrtReserveMemAddress(&address, kHugePage, 0, nullptr, 0),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocPhysical(&more, kHugePage, &wanted, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(map(0, handle), ACL_ERROR_RT_MEMORY_ALLOCATION);
  set("FAIL_VIRTUAL_MEMORY", "0");
  EXPECT_EQ(map(0, handle), ACL_SUCCESS);
}

TEST_F(MemoryVirtualReserved, AReleasedAddressIsNoMemoryOfTheHost) {
  ASSERT_EQ(aclrtReleaseMemAddress(base_), ACL_SUCCESS);
  std::uint32_t value = 0;
  EXPECT_EQ(aclrtMemcpy(&value, 4, base_, 4, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
  void* again = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&again, 4 * kHugePage, 0, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(&value, 4, again, 4, ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(MemoryVirtualReserved, AccessIsOfMappedMemory) {
  const auto set_access = NEWER(aclrtMemSetAccess);
  aclrtMemAccessDesc access = {
      ACL_RT_MEM_ACCESS_FLAGS_READWRITE, {0, ACL_MEM_LOCATION_TYPE_DEVICE}, {}};
  EXPECT_EQ(set_access(base_, kHugePage, &access, 1), ACL_ERROR_RT_PARAM_INVALID);
  const aclrtDrvMemHandle handle = physical();
  ASSERT_EQ(map(0, handle), ACL_SUCCESS);
  EXPECT_EQ(set_access(base_, kHugePage, &access, 1), ACL_SUCCESS);
  EXPECT_EQ(set_access(base_, kHugePage, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(set_access(base_, 2 * kHugePage, &access, 1), ACL_ERROR_RT_PARAM_INVALID);
  access.location.id = 6;
  EXPECT_EQ(set_access(base_, kHugePage, &access, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
  EXPECT_EQ(set_access(base_, kHugePage, &access, 1), ACL_ERROR_INVALID_PARAM);
}

TEST_F(MemoryVirtualReserved, StrictModeSeesBytesThatWereNeverWritten) {
  reserve_again({{"STRICT", "status"}});
  const aclrtDrvMemHandle handle = physical();
  ASSERT_EQ(map(0, handle), ACL_SUCCESS);
  const std::int64_t shape[] = {1};
  aclTensor* const tensor =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, base_);
  ASSERT_EQ(add_to(tensor, tensor, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_TRUE(objected_to("never written"));
  ASSERT_EQ(aclrtMemset(base_, 4, 0, 4), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnmapMem(base_), ACL_SUCCESS);
  ASSERT_EQ(map(0, handle), ACL_SUCCESS);  // the handle remembers
  ASSERT_EQ(add_to(tensor, tensor, 1, nullptr), ACL_SUCCESS);
  EXPECT_EQ(sync(nullptr), ACL_SUCCESS);
  aclDestroyTensor(tensor);
}

}  // namespace
}  // namespace ascend_test
