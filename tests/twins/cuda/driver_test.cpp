// Devices, contexts, memory, modules and launches of the driver's interface.
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "vectors.h"

namespace driver_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

struct Shape {
  const char* profile;
  int major, minor, multiprocessors;
  int shared_optin;  // bytes, from the vendor's table of compute capabilities
};
class Profiles : public ::testing::TestWithParam<Shape> {};

int attribute(CUdevice_attribute which, CUdevice device = 0) {
  int value = -1;
  TWIN_OK(cuDeviceGetAttribute(&value, which, device));
  return value;
}

TEST_P(Profiles, HaveTheAttributesOfTheirCards) {
  const Gpu gpu(GetParam().profile);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), GetParam().major);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), GetParam().minor);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), GetParam().multiprocessors);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 49152);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            GetParam().shared_optin);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), GetParam().major >= 9 ? 1 : 0);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED),
            std::string(GetParam().profile) == "orin" ? 1 : 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, Profiles,
    ::testing::Values(Shape{"p40", 6, 1, 30, 49152}, Shape{"t4", 7, 5, 40, 65536},
                      Shape{"a100", 8, 0, 108, 166912}, Shape{"rtx4090", 8, 9, 128, 101376},
                      Shape{"orin", 8, 7, 16, 166912}, Shape{"h200", 9, 0, 132, 232448},
                      Shape{"b200", 10, 0, 148, 232448}),
    [](const auto& param) { return std::string(param.param.profile); });

TEST(Driver, EveryCallNeedsInitialisation) {
  cuda_twin_reset();
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuInit(0));
  TWIN_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 1);
}

TEST(Driver, DevicesAreCountedAndNamed) {
  cuda_twin_reset();
  cuda_twin_set("CUDA_TWIN_DEVICES", "3");
  cuda_twin_set("CUDA_TWIN_PROFILE", "t4");
  TWIN_OK(cuInit(0));
  int count = 0;
  std::array<char, 64> name{};
  CUdevice device = -1;
  TWIN_OK(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 3);
  TWIN_OK(cuDeviceGetName(name.data(), 64, 2));
  EXPECT_STREQ(name.data(), "Tesla T4");
  TWIN_OK(cuDeviceGetName(name.data(), 6, 2));
  EXPECT_STREQ(name.data(), "Tesla");
  EXPECT_EQ(cuDeviceGet(&device, 3), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  TWIN_OK(cuDeviceGetPCIBusId(name.data(), 64, 1));
  TWIN_OK(cuDeviceGetByPCIBusId(&device, name.data()));
  EXPECT_EQ(device, 1);
  CUuuid first, second;
  TWIN_OK(cuDeviceGetUuid(&first, 0));
  TWIN_OK(cuDeviceGetUuid(&second, 1));
  EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
  cuda_twin_reset_settings();
  cuda_twin_reset();
}

TEST(Driver, FunctionsAreFoundByNameAndVersion) {
  const Gpu gpu;
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  TWIN_OK(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(cuGetProcAddress("cuMemAllocAsync", &function, 11010, 0, &status),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(cuGetProcAddress("cuNothing", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(cuGetProcAddress(nullptr, &function, 13000, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  // An older driver has no newer functions, whatever the program asks for.
  cuda_twin_set("CUDA_TWIN_DRIVER", "12020");
  TWIN_OK(cuGetProcAddress("cuMemAllocAsync", &function, 13000, 0, &status));
  EXPECT_EQ(cuGetProcAddress("cuGraphAddNode", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  int version = 0;
  TWIN_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12020);
}

TEST(Driver, PrimaryContextsAreCountedAndContextsStack) {
  const Gpu gpu;
  unsigned flags = 1;
  int active = 0;
  TWIN_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CUcontext second = nullptr;
  CUcontext current = nullptr;
  TWIN_OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(second, gpu.context);
  TWIN_OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(cuda_twin_count_live(CUDA_TWIN_CONTEXTS), 1u);
  TWIN_OK(cuCtxCreate(&second, nullptr, CU_CTX_SCHED_SPIN, 0));
  TWIN_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, second);
  EXPECT_NE(second, gpu.context);
  TWIN_OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_CTX_SCHED_SPIN));
  TWIN_OK(cuCtxPopCurrent(&current));
  EXPECT_EQ(current, second);
  TWIN_OK(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, gpu.context);
  TWIN_OK(cuCtxDestroy(second));
  EXPECT_EQ(cuCtxDestroy(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(gpu.context), CUDA_ERROR_INVALID_CONTEXT);
  TWIN_OK(cuCtxSetCurrent(nullptr));
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 4), CUDA_ERROR_INVALID_CONTEXT);
  TWIN_OK(cuCtxSetCurrent(gpu.context));
}

TEST(Driver, AContextTakesItsObjectsWithIt) {
  const Gpu gpu;
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
  void* host = nullptr;
  TWIN_OK(cuCtxCreate(&other, nullptr, 0, 0));
  TWIN_OK(cuStreamCreate(&stream, 0));
  TWIN_OK(cuEventCreate(&event, 0));
  TWIN_OK(cuMemAlloc(&address, 1 << 20));
  TWIN_OK(cuMemHostAlloc(&host, 4096, 0));
  CUmodule loaded = nullptr;
  TWIN_OK(twin_test::load(twin_test::vector_kernels(), &loaded));
  TWIN_OK(cuCtxDestroy(other));
  TWIN_OK(cuCtxSetCurrent(gpu.context));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  CUfunction function = nullptr;
  EXPECT_EQ(cuModuleGetFunction(&function, loaded, "spin"), CUDA_ERROR_INVALID_HANDLE);
}

TEST(Driver, MemoryIsAccountedInBlocks) {
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

TEST(Driver, CopiesMoveRowsAndPlanes) {
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

TEST(Driver, FillsHaveElementsOfThreeSizes) {
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

TEST(Driver, CopiesRefuseWhatIsNotThere) {
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

TEST(Driver, PointersSayWhatTheyAre) {
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

TEST(Driver, RegisteredMemoryDoesNotOverlap) {
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

TEST(Driver, ModulesHaveVariablesWithTheirValues) {
  const Gpu gpu;
  const Kernels kernels;
  CUdeviceptr counter = 0, table = 0, pointer = 0, target = 0;
  size_t bytes = 0;
  unsigned values[4] = {};
  TWIN_OK(cuModuleGetGlobal(&counter, &bytes, kernels.loaded, "counter"));
  EXPECT_EQ(bytes, 4u);
  TWIN_OK(cuMemcpyDtoH(values, counter, 4));
  EXPECT_EQ(values[0], 7u);
  TWIN_OK(cuModuleGetGlobal(&table, &bytes, kernels.loaded, "table"));
  EXPECT_EQ(bytes, 16u);
  TWIN_OK(cuMemcpyDtoH(values, table, 16));
  EXPECT_EQ(values[3], 4u);
  TWIN_OK(cuModuleGetGlobal(&pointer, nullptr, kernels.loaded, "pointer"));
  TWIN_OK(cuMemcpyDtoH(&target, pointer, 8));
  EXPECT_EQ(target, counter);
  EXPECT_EQ(cuModuleGetGlobal(&pointer, nullptr, kernels.loaded, "nothing"), CUDA_ERROR_NOT_FOUND);
  TWIN_OK(cuLaunchKernel(kernels["bump"], 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TWIN_OK(cuMemcpyDtoH(values, counter, 4));
  EXPECT_EQ(values[0], 8u);
}

TEST(Driver, ParametersComeOneByOneOrInABuffer) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(100, 1u);
  TWIN_OK(kernels.add_one(numbers.address, 100, nullptr));
  struct {
    CUdeviceptr address;
    unsigned n;
  } buffer = {numbers.address, 50};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  const CUfunction add = kernels["add_one"];
  TWIN_OK(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  const std::vector<unsigned> sums = numbers.read();
  EXPECT_EQ(sums[49], 3u);
  EXPECT_EQ(sums[50], 2u);
  size = 11;
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  size_t offset = 0, bytes = 0;
  TWIN_OK(cuFuncGetParamInfo(add, 1, &offset, &bytes));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(cuFuncGetParamInfo(add, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

TEST(Driver, LaunchesAreChecked) {
  const Gpu gpu;
  const Kernels kernels;
  const CUfunction bump = kernels["bump"];
  const auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared) {
    return cuLaunchKernel(bump, gx, gy, 1, bx, 1, bz, shared, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(launch(0, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1025, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 513, 2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1u << 31, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 65536, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(1, 1, 1, 1, 49153), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(launch(1, 1, 1, 1, 49152));
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(0x123450), nullptr,
                           nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST(Driver, DynamicSharedMemoryAboveTheDefaultIsOptIn) {
  const Gpu gpu("a100");
  const Kernels kernels;
  const CUfunction reverse = kernels["reverse"];
  Buffer<unsigned> numbers({1, 2, 3, 4, 5, 6, 7, 8});
  CUdeviceptr address = numbers.address;
  void* arguments[] = {&address};
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(reverse, 1, 1, 1, 8, 1, 1, shared, nullptr, arguments, nullptr);
  };
  EXPECT_EQ(launch(100000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 166913),
            CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 166912));
  int value = 0;
  TWIN_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, reverse));
  EXPECT_EQ(value, 166912);
  TWIN_OK(launch(100000));
  EXPECT_EQ(numbers.read(), (std::vector<unsigned>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST(Driver, OccupancyFollowsThreadsAndSharedMemory) {
  const Gpu gpu("a100");  // 2048 threads, 32 blocks, 164 KiB of shared memory a multiprocessor
  const Kernels kernels;
  const CUfunction bump = kernels["bump"];
  const auto blocks = [&](int threads, size_t shared) {
    int count = -1;
    TWIN_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, bump, threads, shared));
    return count;
  };
  EXPECT_EQ(blocks(1024, 0), 2);
  EXPECT_EQ(blocks(32, 0), 32);
  EXPECT_EQ(blocks(32, 40960), 4);  // 41 KiB with the KiB that each block reserves
  EXPECT_EQ(blocks(1025, 0), 0);
  int grid = 0, block = 0;
  TWIN_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, bump, nullptr, 0, 0));
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 216);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&grid, bump, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST(Driver, LaunchAttributesAskForCooperationAndClusters) {
  const Gpu gpu("a100");
  const Kernels kernels;
  const CUfunction bump = kernels["bump"];
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  TWIN_OK(cuLaunchKernelEx(&config, bump, nullptr, nullptr));
  attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  TWIN_OK(cuLaunchKernelEx(&config, bump, nullptr, nullptr));
  config.gridDimX = 108 * 2 + 1;  // one block more than the device holds
  config.blockDimX = 1024;
  EXPECT_EQ(cuLaunchKernelEx(&config, bump, nullptr, nullptr),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = 2;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  config.gridDimX = 2;
  EXPECT_EQ(cuLaunchKernelEx(&config, bump, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, bump, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(cuCtxSynchronize());
}

TEST(Driver, KernelsUseAPeersMemoryOnceAllowed) {
  cuda_twin_reset_settings();
  cuda_twin_reset();
  cuda_twin_set("CUDA_TWIN_DEVICES", "2");
  TWIN_OK(cuInit(0));
  int can = 0;
  TWIN_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  TWIN_OK(cuDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  CUcontext first = nullptr, second = nullptr;
  TWIN_OK(cuDevicePrimaryCtxRetain(&first, 0));
  TWIN_OK(cuDevicePrimaryCtxRetain(&second, 1));
  TWIN_OK(cuCtxSetCurrent(second));
  CUdeviceptr there = 0, here = 0;
  unsigned value = 1;
  TWIN_OK(cuMemAlloc(&there, 4));
  TWIN_OK(cuMemcpyHtoD(there, &value, 4));
  TWIN_OK(cuCtxSetCurrent(first));
  EXPECT_EQ(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  TWIN_OK(cuCtxEnablePeerAccess(second, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_CONTEXT);
  {
    const Kernels kernels;
    TWIN_OK(kernels.add_one(there, 1, nullptr));
    TWIN_OK(cuCtxSynchronize());
    TWIN_OK(cuMemAlloc(&here, 4));
    TWIN_OK(cuMemcpyPeer(here, first, there, second, 4));
    TWIN_OK(cuMemcpyDtoH(&value, here, 4));
    EXPECT_EQ(value, 2u);
    EXPECT_EQ(cuda_twin_count_copied_bytes(CUDA_TWIN_BETWEEN_DEVICES), 4u);
    TWIN_OK(cuCtxDisablePeerAccess(second));
    TWIN_OK(kernels.add_one(there, 1, nullptr));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  cuda_twin_reset();
  cuda_twin_set("CUDA_TWIN_PEERS", "off");
  TWIN_OK(cuInit(0));
  TWIN_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  cuda_twin_reset();
  cuda_twin_reset_settings();
}

TEST(Driver, CountsKernelsCopiesAndCalls) {
  const Gpu gpu;
  const Kernels kernels;
  Buffer<unsigned> numbers(256, 0u);
  cuda_twin_reset_counts();
  TWIN_OK(kernels.add_one(numbers.address, 256, nullptr));
  TWIN_OK(kernels.add_one(numbers.address, 256, nullptr));
  EXPECT_EQ(numbers.read()[255], 2u);
  cuda_twin_kernel_counts counts;
  EXPECT_EQ(cuda_twin_count_kernel("add_one", &counts), 1);
  EXPECT_EQ(counts.launches, 2u);
  EXPECT_EQ(counts.blocks, 4u);
  EXPECT_EQ(counts.global_bytes_read, 2048u);
  EXPECT_EQ(counts.global_bytes_written, 2048u);
  EXPECT_EQ(cuda_twin_count_kernel("nothing", &counts), 0);
  EXPECT_EQ(cuda_twin_count_copies(CUDA_TWIN_TO_HOST), 1u);
  EXPECT_EQ(cuda_twin_count_copied_bytes(CUDA_TWIN_TO_HOST), 1024u);
  EXPECT_EQ(cuda_twin_count_calls("cuLaunchKernel"), 2u);
  EXPECT_EQ(cuda_twin_count_calls("cuMemcpyDtoH_v2"), 1u);
}

}  // namespace driver_test
