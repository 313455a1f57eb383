// Reserved addresses, physical memory, mappings and rights of access.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace cuda_virtual_memory_test {
namespace {

using twin_test::Gpu;

constexpr std::size_t kBlock = std::size_t{2} << 20;

class VirtualMemoryTest : public testing::Test {
 protected:
  static CUmemAllocationProp prop(int device = 0) {
    CUmemAllocationProp made{};
    made.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    made.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    return made;
  }
  static CUmemAccessDesc access(CUmemAccess_flags flags, int device = 0) {
    return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
  }
  static CUmemGenericAllocationHandle create(std::size_t bytes = kBlock) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp made = prop();
    TWIN_OK(cuMemCreate(&handle, bytes, &made, 0));
    return handle;
  }
  static CUdeviceptr reserve(std::size_t bytes) {
    CUdeviceptr address = 0;
    TWIN_OK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
  }
  static void allow(CUdeviceptr address, std::size_t bytes,
                    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    const CUmemAccessDesc desc = access(flags);
    TWIN_OK(cuMemSetAccess(address, bytes, &desc, 1));
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    TWIN_OK(cuMemGetInfo(&free, &total));
    return free;
  }
  /// One thread loads from and stores to an address.
  static CUresult touch(CUdeviceptr address, bool write) {
    const std::string text = twin_test::module(
        std::string(".visible .entry touch(.param .u64 p) {\n"
                    "  .reg .b64 %a; .reg .b32 %x;\n  ld.param.u64 %a, [p];\n") +
        (write ? "  st.global.u32 [%a], 5;\n" : "  ld.global.u32 %x, [%a];\n") + "  ret;\n}");
    return twin_test::launch(text, "touch", {}, {}, {&address});
  }

  Gpu gpu_;
};

TEST_F(VirtualMemoryTest, MappedMemoryWithAccessIsMemory) {
  const std::size_t before = free_bytes();
  const CUmemGenericAllocationHandle handle = create(2 * kBlock);
  EXPECT_EQ(before - free_bytes(), 2 * kBlock);
  const CUdeviceptr address = reserve(4 * kBlock);
  TWIN_OK(cuMemMap(address + kBlock, 2 * kBlock, 0, handle, 0));
  allow(address + kBlock, 2 * kBlock);
  std::vector<std::uint32_t> values(2 * kBlock / 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * 7);
  TWIN_OK(cuMemcpyHtoD(address + kBlock, values.data(), 2 * kBlock));
  std::vector<std::uint32_t> back(values.size());
  TWIN_OK(cuMemcpyDtoH(back.data(), address + kBlock, 2 * kBlock));
  EXPECT_EQ(back, values);
  EXPECT_EQ(touch(address + 2 * kBlock, true), CUDA_SUCCESS);
  TWIN_OK(cuMemUnmap(address + kBlock, 2 * kBlock));
  TWIN_OK(cuMemRelease(handle));
  TWIN_OK(cuMemAddressFree(address, 4 * kBlock));
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(VirtualMemoryTest, ThreadUsesMemoryWhileItsAccessIsSet) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  allow(address, kBlock);
  std::atomic<bool> over{false};
  int failed = 0;
  std::thread user([&] {
    TWIN_OK(cuCtxSetCurrent(gpu_.context));
    for (std::uint32_t word = 0; !over; ++word)
      if (cuMemcpyHtoD(address, &word, 4) != CUDA_SUCCESS) ++failed;
  });
  for (int i = 0; i < 3000; ++i) allow(address, kBlock);
  over = true;
  user.join();
  EXPECT_EQ(failed, 0);
  TWIN_OK(cuMemUnmap(address, kBlock));
  TWIN_OK(cuMemRelease(handle));
  TWIN_OK(cuMemAddressFree(address, kBlock));
}

/// A buffer that grew: two mappings side by side.
TEST_F(VirtualMemoryTest, CopiesAndFillsCrossMappings) {
  const CUmemGenericAllocationHandle handles[] = {create(), create()};
  const CUdeviceptr address = reserve(2 * kBlock);
  for (std::size_t i = 0; i < 2; ++i)
    TWIN_OK(cuMemMap(address + i * kBlock, kBlock, 0, handles[i], 0));
  allow(address, 2 * kBlock);
  TWIN_OK(cuMemsetD32(address, 0x01020304, 2 * kBlock / 4));
  TWIN_OK(cuMemsetD16(address + kBlock - 4, 0x0506, 4));
  std::vector<std::uint32_t> words(2 * kBlock / 4);
  TWIN_OK(cuMemcpyDtoH(words.data(), address, 2 * kBlock));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool changed = i + 1 == kBlock / 4 || i == kBlock / 4;
    ASSERT_EQ(words[i], changed ? 0x05060506u : 0x01020304u) << i;
  }
  TWIN_OK(cuMemUnmap(address, 2 * kBlock));
  for (const CUmemGenericAllocationHandle handle : handles) TWIN_OK(cuMemRelease(handle));
  TWIN_OK(cuMemAddressFree(address, 2 * kBlock));
}

TEST_F(VirtualMemoryTest, OneMemoryAtTwoAddresses) {
  const CUmemGenericAllocationHandle handle = create(2 * kBlock);
  const CUdeviceptr address = reserve(4 * kBlock);
  TWIN_OK(cuMemMap(address, 2 * kBlock, 0, handle, 0));
  TWIN_OK(cuMemMap(address + 2 * kBlock, kBlock, kBlock, handle, 0));
  allow(address, 3 * kBlock);
  TWIN_OK(cuMemsetD32(address, 1, 2 * kBlock / 4));
  TWIN_OK(cuMemsetD32(address + 2 * kBlock, 99, 1));
  std::uint32_t word = 0;
  TWIN_OK(cuMemcpyDtoH(&word, address + kBlock, 4));
  EXPECT_EQ(word, 99u);
  TWIN_OK(cuMemUnmap(address, 3 * kBlock));
  TWIN_OK(cuMemRelease(handle));
  TWIN_OK(cuMemAddressFree(address, 4 * kBlock));
}

TEST_F(VirtualMemoryTest, ContentStaysWhileAHandleOrAMappingDoes) {
  const std::size_t before = free_bytes();
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(2 * kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  allow(address, kBlock);
  TWIN_OK(cuMemsetD32(address, 31, kBlock / 4));
  TWIN_OK(cuMemUnmap(address, kBlock));
  TWIN_OK(cuMemMap(address + kBlock, kBlock, 0, handle, 0));
  TWIN_OK(cuMemRelease(handle));
  EXPECT_EQ(before - free_bytes(), kBlock) << "the mapping keeps it";
  CUmemAllocationProp got{};
  EXPECT_EQ(cuMemGetAllocationPropertiesFromHandle(&got, handle), CUDA_ERROR_INVALID_VALUE);
  allow(address + kBlock, kBlock);
  std::uint32_t word = 0;
  TWIN_OK(cuMemcpyDtoH(&word, address + 2 * kBlock - 4, 4));
  EXPECT_EQ(word, 31u);
  CUmemGenericAllocationHandle again = 0;
  TWIN_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address + kBlock + 100)));
  EXPECT_EQ(again, handle);
  TWIN_OK(cuMemGetAllocationPropertiesFromHandle(&got, again));
  EXPECT_EQ(got.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  TWIN_OK(cuMemUnmap(address + kBlock, kBlock));
  EXPECT_EQ(before - free_bytes(), kBlock) << "the handle keeps it";
  TWIN_OK(cuMemRelease(again));
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuMemRelease(again), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemAddressFree(address, 2 * kBlock));
}

TEST_F(VirtualMemoryTest, MappedMemoryWithoutAccessFaults) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  std::uint32_t word = 0;
  EXPECT_NE(cuMemcpyDtoH(&word, address, 4), CUDA_SUCCESS);
  EXPECT_EQ(touch(address, true), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(cuda_twin_last_fault()), "");
}

TEST_F(VirtualMemoryTest, ReservedMemoryWithoutAMappingFaults) {
  EXPECT_EQ(touch(reserve(kBlock), false), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryTest, ReadAccessLetsNoKernelWrite) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  allow(address, kBlock);
  TWIN_OK(cuMemsetD32(address, 31, kBlock / 4));
  allow(address, kBlock, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(touch(address, false), CUDA_SUCCESS);
  EXPECT_EQ(touch(address, true), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryTest, AccessIsReturnedAndTakenAway) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long flags = 9;
  for (const auto expected : {CU_MEM_ACCESS_FLAGS_PROT_READWRITE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                              CU_MEM_ACCESS_FLAGS_PROT_NONE}) {
    allow(address, kBlock, expected);
    TWIN_OK(cuMemGetAccess(&flags, &device, address + 5));
    EXPECT_EQ(flags, static_cast<unsigned long long>(expected));
  }
  EXPECT_EQ(cuMemGetAccess(&flags, &device, address + kBlock), CUDA_ERROR_INVALID_VALUE);
  const CUmemLocation nowhere = {CU_MEM_LOCATION_TYPE_DEVICE, 7};
  EXPECT_EQ(cuMemGetAccess(&flags, &nowhere, address), CUDA_ERROR_INVALID_DEVICE);
  std::uint32_t word = 0;
  EXPECT_EQ(cuMemcpyDtoH(&word, address, 4), CUDA_ERROR_INVALID_VALUE) << "copies need access, too";
  EXPECT_EQ(touch(address, false), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(VirtualMemoryTest, SizesAndAddressesAreChecked) {
  const CUmemAllocationProp made = prop();
  std::size_t granularity = 0;
  TWIN_OK(cuMemGetAllocationGranularity(&granularity, &made, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(granularity, kBlock);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kBlock, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kBlock, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(nullptr, kBlock, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemAddressReserve(&address, 2 * kBlock, 4 * kBlock, 0, 0));
  EXPECT_EQ(address % (4 * kBlock), 0u);

  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, kBlock / 2, &made, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, 0, &made, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, kBlock, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  CUmemAllocationProp wrong = prop(9);
  EXPECT_EQ(cuMemCreate(&handle, kBlock, &wrong, 0), CUDA_ERROR_INVALID_DEVICE);
  wrong = made;
  wrong.type = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_EQ(cuMemCreate(&handle, kBlock, &wrong, 0), CUDA_ERROR_INVALID_VALUE);

  handle = create();
  EXPECT_EQ(cuMemMap(address, 2 * kBlock, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address, kBlock, kBlock, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address + 4096, kBlock, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address + 2 * kBlock, kBlock, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address, kBlock, 0, handle + 1, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  EXPECT_EQ(cuMemMap(address, kBlock, 0, handle, 0), CUDA_ERROR_INVALID_VALUE) << "mapped already";
  const CUmemAccessDesc desc = access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(cuMemSetAccess(address, 2 * kBlock, &desc, 1), CUDA_ERROR_INVALID_VALUE)
      << "half of it is not mapped";
  EXPECT_EQ(cuMemSetAccess(address, kBlock, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc peer = access(CU_MEM_ACCESS_FLAGS_PROT_READ, 3);
  EXPECT_EQ(cuMemSetAccess(address, kBlock, &peer, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuMemUnmap(address, kBlock / 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(address, 2 * kBlock), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, 2 * kBlock), CUDA_ERROR_INVALID_VALUE) << "still mapped";
  TWIN_OK(cuMemUnmap(address, kBlock));
  EXPECT_EQ(cuMemUnmap(address, kBlock), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, kBlock), CUDA_ERROR_INVALID_VALUE) << "another size";
  TWIN_OK(cuMemAddressFree(address, 2 * kBlock));
  EXPECT_EQ(cuMemAddressFree(address, 2 * kBlock), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemoryTest, PhysicalMemoryCountsAgainstTheDevice) {
  std::size_t free = 0, total = 0;
  TWIN_OK(cuMemGetInfo(&free, &total));
  const CUmemAllocationProp made = prop();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuMemCreate(&handle, (total / kBlock + 1) * kBlock, &made, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(cuda_twin_set("CUDA_TWIN_FAIL_ALLOCATION", "1"), 1);
  EXPECT_EQ(cuMemCreate(&handle, kBlock, &made, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(free_bytes(), free);
}

TEST_F(VirtualMemoryTest, FreshMemoryIsUnwritten) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = reserve(kBlock);
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  allow(address, kBlock);
  EXPECT_NE(touch(address, false), CUDA_SUCCESS) << "a read of unwritten memory";
}

/// Two devices that are peers; the context of device 0 is current.
struct TwoGpus : Gpu {
  CUcontext contexts[2] = {};

  TwoGpus() {
    TWIN_OK(cuCtxSetCurrent(nullptr));
    TWIN_OK(cuDevicePrimaryCtxRelease(device));
    cuda_twin_reset();
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DEVICES", "2"), 1);
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PEERS", "on"), 1);
    TWIN_OK(cuInit(0));
    for (int i = 0; i < 2; ++i) TWIN_OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
    use(0);
  }
  ~TwoGpus() {
    (void)cuDevicePrimaryCtxRelease(1);
    use(0);
  }
  void use(int number) const { TWIN_OK(cuCtxSetCurrent(contexts[number])); }
};

CUresult store_to(CUdeviceptr address) {
  const std::string text = twin_test::module(
      ".visible .entry store(.param .u64 p) { .reg .b64 %a;\n"
      "  ld.param.u64 %a, [p];\n  st.global.u32 [%a], 5;\n  ret; }");
  return twin_test::launch(text, "store", {}, {}, {&address});
}

TEST(VirtualMemoryPeersTest, OnlyDevicesWithAccessUseTheMemory) {
  const TwoGpus gpus;
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemGenericAllocationHandle handle = 0;
  TWIN_OK(cuMemCreate(&handle, kBlock, &prop, 0));
  CUdeviceptr address = 0;
  TWIN_OK(cuMemAddressReserve(&address, kBlock, 0, 0, 0));
  TWIN_OK(cuMemMap(address, kBlock, 0, handle, 0));
  const CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  TWIN_OK(cuMemSetAccess(address, kBlock, &desc, 1));
  EXPECT_EQ(store_to(address), CUDA_SUCCESS) << "device 0 has access, without enabled peers";
  gpus.use(1);
  EXPECT_EQ(store_to(address), CUDA_ERROR_ILLEGAL_ADDRESS) << "the memory's own device has none";
  gpus.use(0);
  TWIN_OK(cuMemUnmap(address, kBlock));
  TWIN_OK(cuMemRelease(handle));
  TWIN_OK(cuMemAddressFree(address, kBlock));
}

TEST(VirtualMemoryPeersTest, PoolsGivePeersAccess) {
  const TwoGpus gpus;
  CUstream stream = nullptr;
  TWIN_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUmemoryPool pool = nullptr;
  TWIN_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  CUdeviceptr address = 0;
  TWIN_OK(cuMemAllocAsync(&address, 64, stream));
  TWIN_OK(cuStreamSynchronize(stream));
  CUmemAccessDesc desc = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  TWIN_OK(cuMemPoolSetAccess(pool, &desc, 1));
  gpus.use(1);
  EXPECT_EQ(store_to(address), CUDA_SUCCESS);
  std::uint32_t word = 0;
  gpus.use(0);
  TWIN_OK(cuMemcpyDtoH(&word, address, 4));
  EXPECT_EQ(word, 5u);
  desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  TWIN_OK(cuMemPoolSetAccess(pool, &desc, 1));
  gpus.use(1);
  EXPECT_EQ(store_to(address), CUDA_ERROR_ILLEGAL_ADDRESS);
  gpus.use(0);
  TWIN_OK(cuMemFreeAsync(address, stream));
  TWIN_OK(cuStreamSynchronize(stream));
  TWIN_OK(cuStreamDestroy(stream));
}

}  // namespace
}  // namespace cuda_virtual_memory_test
