// Memory of devices and hosts: accounting, copies, fills, addresses.
#include <sys/mman.h>

#include <sstream>
#include <string>
#include <vector>

#include "vectors.h"

namespace copies_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

TEST(Copies, MemoryIsAccountedInBlocks) {
  const Gpu gpu("t4");
  constexpr size_t kMiB = size_t{1} << 20;
  size_t before = 0, after = 0, total = 0;
  TWIN_OK(cuMemGetInfo(&before, &total));
  EXPECT_EQ(total, size_t{16} << 30);
  CUdeviceptr small = 0, other = 0, large = 0;
  TWIN_OK(cuMemAlloc(&small, 1));
  TWIN_OK(cuMemAlloc(&other, 1));
  TWIN_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before - after, 2 * kMiB);  // both in one block
  TWIN_OK(cuMemAlloc(&large, 3 * kMiB));
  TWIN_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before - after, 6 * kMiB);
  EXPECT_EQ(small % 256, 0u);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  TWIN_OK(cuMemGetAddressRange(&base, &bytes, large + 5));
  EXPECT_EQ(base, large);
  EXPECT_EQ(bytes, 3 * kMiB);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_ALLOCATIONS), 3u);
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_DEVICE_BYTES), 2 + 3 * kMiB);
  TWIN_OK(cuMemFree(small));
  EXPECT_EQ(cuMemFree(small), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(large + 512), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemFree(0));
  TWIN_OK(cuMemFree(other));
  TWIN_OK(cuMemFree(large));
  TWIN_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before, after);
  EXPECT_EQ(cuMemAlloc(&large, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(&large, size_t{17} << 30), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(Copies, CopiesMoveRowsAndPlanes) {
  const Gpu gpu;
  // 3 rows of 4 bytes out of a host array of 6 bytes a row, into rows 8 bytes apart.
  std::vector<unsigned char> host(18);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i + 1);
  Buffer<unsigned char> device(24, 0);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 6;
  copy.srcXInBytes = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device.address;
  copy.dstPitch = 8;
  copy.dstXInBytes = 2;
  copy.WidthInBytes = 4;
  copy.Height = 3;
  TWIN_OK(cuMemcpy2D(&copy));
  const std::vector<unsigned char> expected = {0,  0,  2, 3, 4, 5, 0,  0,  0,  0,  8, 9,
                                               10, 11, 0, 0, 0, 0, 14, 15, 16, 17, 0, 0};
  EXPECT_EQ(device.read(), expected);
  copy.dstPitch = 5;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);

  CUDA_MEMCPY3D box{};
  std::vector<unsigned char> back(8, 0);
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = device.address;
  box.srcPitch = 4;
  box.srcHeight = 3;  // planes of 12 bytes
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = back.data();
  box.dstPitch = 2;
  box.dstHeight = 2;
  box.WidthInBytes = 2;
  box.Height = 2;
  box.Depth = 2;
  TWIN_OK(cuMemcpy3D(&box));
  const std::vector<unsigned char> corner = {expected[0],  expected[1],  expected[4],
                                             expected[5],  expected[12], expected[13],
                                             expected[16], expected[17]};
  EXPECT_EQ(back, corner);
}

TEST(Copies, FillsHaveElementsOfThreeSizes) {
  const Gpu gpu;
  Buffer<unsigned> words(4, 0);
  TWIN_OK(cuMemsetD32(words.address, 0x01020304u, 4));
  TWIN_OK(cuMemsetD16(words.address + 4, 0xABCD, 2));
  TWIN_OK(cuMemsetD8(words.address + 8, 0x55, 3));
  EXPECT_EQ(words.read(),
            (std::vector<unsigned>{0x01020304u, 0xABCDABCDu, 0x01555555u, 0x01020304u}));
  TWIN_OK(cuMemsetD2D8(words.address, 4, 0xFF, 1, 4));
  EXPECT_EQ(words.read(),
            (std::vector<unsigned>{0x010203FFu, 0xABCDABFFu, 0x015555FFu, 0x010203FFu}));
  EXPECT_EQ(cuMemsetD32(words.address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(words.address, 0, 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD2D16(words.address, 2, 0, 2, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST(Copies, CopiesRefuseWhatIsNotThere) {
  const Gpu gpu;
  const Buffer<unsigned> device(4, 1u);
  unsigned host[4] = {};
  EXPECT_EQ(cuMemcpyDtoH(host, device.address, 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host, 0, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(nullptr, device.address, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(device.address, reinterpret_cast<void*>(device.address), 4),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(host), host, 4), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuMemcpyDtoH(host, device.address, 0));
  TWIN_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(host), device.address, 8));
  EXPECT_EQ(host[1], 1u);
  EXPECT_EQ(host[2], 0u);
}

TEST(Copies, HostAddressesThatAreNotMappedAreRefused) {
  const Gpu gpu;
  const Buffer<unsigned> device(1, 1u);
  void* const nowhere = reinterpret_cast<void*>(8);
  const auto refused = [](CUresult result, const char* side) {
    const std::string message = cuda_twin_last_message();
    return result == CUDA_ERROR_INVALID_VALUE && message.find(side) != std::string::npos;
  };
  EXPECT_TRUE(refused(cuMemcpyHtoD(device.address, nowhere, 4), "source"));
  EXPECT_TRUE(refused(cuMemcpyHtoDAsync(device.address, nowhere, 4, nullptr), "source"));
  EXPECT_TRUE(refused(cuMemcpyDtoH(nowhere, device.address, 4), "destination"));
  EXPECT_TRUE(refused(cuMemcpyDtoHAsync(nowhere, device.address, 4, nullptr), "destination"));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = nowhere;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device.address;
  copy.WidthInBytes = 2;
  copy.Height = 2;
  EXPECT_TRUE(refused(cuMemcpy2D(&copy), "source"));
  TWIN_OK(cuCtxSynchronize());  // the context is as before
  EXPECT_EQ(device.read(), std::vector<unsigned>{1});
}

TEST(Copies, AFaultNamesTheSideThatIsProtected) {
  constexpr size_t kPage = 4096;
  for (const bool to_host : {false, true}) {
    void* const page =
        mmap(nullptr, kPage, to_host ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const Gpu gpu;
    const Buffer<unsigned> device(1, 1u);
    const CUresult result =
        to_host ? cuMemcpyDtoH(page, device.address, 4) : cuMemcpyHtoD(device.address, page, 4);
    EXPECT_EQ(result, CUDA_ERROR_ILLEGAL_ADDRESS);
    std::ostringstream address;
    address << page;
    const std::string fault = cuda_twin_last_fault();
    EXPECT_NE(fault.find(to_host ? "cannot write" : "cannot read"), std::string::npos) << fault;
    EXPECT_NE(fault.find(address.str()), std::string::npos) << fault;
    munmap(page, kPage);
  }
}

TEST(Copies, DeviceMemoryHasNoHostPointer) {
  const Gpu gpu;
  const Buffer<unsigned> device(1, 1u);
  void* pointer = &pointer;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_HOST_POINTER;
  EXPECT_EQ(cuPointerGetAttribute(&pointer, attribute, device.address), CUDA_ERROR_INVALID_VALUE);
  void* answers[] = {&pointer};
  TWIN_OK(cuPointerGetAttributes(1, &attribute, answers, device.address));
  EXPECT_EQ(pointer, nullptr);
  void* host = nullptr;
  TWIN_OK(cuMemHostAlloc(&host, 4, 0));
  TWIN_OK(cuPointerGetAttribute(&pointer, attribute, reinterpret_cast<CUdeviceptr>(host)));
  EXPECT_EQ(pointer, host);
  TWIN_OK(cuMemFreeHost(host));
}

TEST(Copies, PointersSayWhatTheyAre) {
  const Gpu gpu;
  const Buffer<unsigned> device(4, 1u);
  unsigned type = 0, managed = 9;
  int ordinal = -1;
  CUcontext context = nullptr;
  CUdeviceptr start = 0;
  TWIN_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device.address + 4));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  TWIN_OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device.address));
  EXPECT_EQ(context, gpu.context);
  TWIN_OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device.address + 8));
  EXPECT_EQ(start, device.address);
  void* host = nullptr;
  TWIN_OK(cuMemHostAlloc(&host, 100, CU_MEMHOSTALLOC_WRITECOMBINED));
  const auto pinned = reinterpret_cast<CUdeviceptr>(host);
  TWIN_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pinned));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
  unsigned flags = 0;
  TWIN_OK(cuMemHostGetFlags(&flags, host));
  EXPECT_NE(flags & CU_MEMHOSTALLOC_WRITECOMBINED, 0u);
  CUdeviceptr mapped = 0;
  TWIN_OK(cuMemHostGetDevicePointer(&mapped, host, 0));
  EXPECT_EQ(mapped, pinned);
  TWIN_OK(cuMemFreeHost(host));
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr shared = 0;
  TWIN_OK(cuMemAllocManaged(&shared, 8, CU_MEM_ATTACH_GLOBAL));
  *reinterpret_cast<unsigned*>(shared) = 5;  // the host may touch it
  TWIN_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, shared));
  EXPECT_EQ(managed, 1u);
  TWIN_OK(cuMemFree(shared));
  int plain = 3;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&type, &ordinal};
  const auto unknown = reinterpret_cast<CUdeviceptr>(&plain);
  EXPECT_EQ(cuPointerGetAttribute(&type, asked[0], unknown), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuPointerGetAttributes(2, asked, answers, unknown));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, CU_DEVICE_INVALID);
}

TEST(Copies, RegisteredMemoryDoesNotOverlap) {
  const Gpu gpu;
  std::vector<char> host(1 << 16);
  TWIN_OK(cuMemHostRegister(host.data(), 8192, 0));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_REGISTERED_RANGES), 1u);
  EXPECT_EQ(cuMemHostRegister(host.data() + 4096, 8192, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(host.data() + 4096), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_EQ(cuMemHostRegister(nullptr, 8192, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(reinterpret_cast<void*>(0x1000), 8192, 0), CUDA_ERROR_INVALID_VALUE);
  const Kernels kernels;
  auto* const words = reinterpret_cast<unsigned*>(host.data());
  words[0] = 41;
  TWIN_OK(kernels.add_one(reinterpret_cast<CUdeviceptr>(words), 1, nullptr));
  TWIN_OK(cuCtxSynchronize());
  EXPECT_EQ(words[0], 42u);
  TWIN_OK(cuMemHostUnregister(host.data()));
}

}  // namespace copies_test
