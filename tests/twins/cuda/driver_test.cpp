// Devices, contexts, peers and counts of the driver's interface.
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
