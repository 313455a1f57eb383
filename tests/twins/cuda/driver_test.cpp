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
                      Shape{"m40", 5, 2, 24, 49152}, Shape{"a100", 8, 0, 108, 166912},
                      Shape{"rtx4090", 8, 9, 128, 101376}, Shape{"orin", 8, 7, 16, 166912},
                      Shape{"h200", 9, 0, 132, 232448}, Shape{"b200", 10, 0, 148, 232448}),
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
  // The header of 12.0 names the function so; 11.x has a function of other parameters.
  TWIN_OK(cuGetProcAddress("cuGraphInstantiate", &function, 12000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuGraphInstantiateWithFlags));
  TWIN_OK(cuGetProcAddress("cuGraphInstantiate", &function, 11080, 0, &status));
  EXPECT_NE(function, reinterpret_cast<void*>(&cuGraphInstantiateWithFlags));
  // An older driver has no newer functions, whatever the program asks for.
  cuda_twin_set("CUDA_TWIN_DRIVER", "12020");
  TWIN_OK(cuGetProcAddress("cuMemAllocAsync", &function, 13000, 0, &status));
  EXPECT_EQ(cuGetProcAddress("cuFuncGetName", &function, 13000, 0, &status), CUDA_ERROR_NOT_FOUND);
  int version = 0;
  TWIN_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12020);
}

/// A function that a linker or dlsym() finds in spite of the version.
TEST(Driver, OlderDriversLackNewerFunctions) {
  const Gpu gpu;
  size_t free = 0, total = 0;
  CUdeviceptr address = 0;
  unsigned long long id = 0;
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  cuda_twin_set("CUDA_TWIN_DRIVER", "11000");
  TWIN_OK(cuMemGetInfo(&free, &total));  // 3.2
  EXPECT_EQ(cuMemAllocAsync(&address, 64, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_NE(std::string(cuda_twin_last_message()).find("of driver 11.2"), std::string::npos);
  EXPECT_EQ(cuCtxGetId(nullptr, &id), CUDA_ERROR_NOT_FOUND);
  function = &free;
  status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(cuGetProcAddress("cuInit", &function, 11000, 0, &status), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  cuda_twin_set("CUDA_TWIN_DRIVER", "11020");
  TWIN_OK(cuMemAllocAsync(&address, 64, nullptr));
  TWIN_OK(cuMemFreeAsync(address, nullptr));
  EXPECT_EQ(cuCtxGetId(nullptr, &id), CUDA_ERROR_NOT_FOUND);
  cuda_twin_set("CUDA_TWIN_DRIVER", "12000");
  TWIN_OK(cuCtxGetId(nullptr, &id));
}

/// cuGetProcAddress of 11.3 has no status; cuDeviceGetUuid of 9.2 is as that of 11.4.
TEST(Driver, FirstFormsOfFunctions) {
  const Gpu gpu;
  void* found = nullptr;
  TWIN_OK(cuGetProcAddress("cuGetProcAddress", &found, 11030, 0, nullptr));
  using FirstForm = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto get = reinterpret_cast<FirstForm>(found);
  EXPECT_NE(found, reinterpret_cast<void*>(&cuGetProcAddress));
  cuda_twin_set("CUDA_TWIN_DRIVER", "11030");
  TWIN_OK(get("cuMemAlloc", &found, 11030, 0));
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuMemAlloc));
  EXPECT_EQ(get("cuLaunchKernelEx", &found, 12000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(get(nullptr, &found, 12000, 0), CUDA_ERROR_INVALID_VALUE);
  TWIN_OK(get("cuDeviceGetUuid", &found, 11030, 0));
  CUuuid first, second;
  TWIN_OK(reinterpret_cast<CUresult (*)(CUuuid*, CUdevice)>(found)(&first, 0));
  cuda_twin_set("CUDA_TWIN_DRIVER", "11020");
  EXPECT_EQ(get("cuMemAlloc", &found, 11020, 0), CUDA_ERROR_NOT_FOUND);
  cuda_twin_set("CUDA_TWIN_DRIVER", "13000");
  TWIN_OK(cuDeviceGetUuid(&second, 0));
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
}

TEST(Driver, PinnedMemoryOfAnIntegratedDeviceIsTheDevices) {
  constexpr size_t kBytes = size_t{64} << 20;
  for (const char* profile : {"orin", "h200"}) {
    const Gpu gpu(profile);
    size_t before = 0, during = 0, after = 0;
    void* host = nullptr;
    TWIN_OK(cuMemGetInfo(&before, nullptr));
    TWIN_OK(cuMemHostAlloc(&host, kBytes, 0));
    TWIN_OK(cuMemGetInfo(&during, nullptr));
    TWIN_OK(cuMemFreeHost(host));
    TWIN_OK(cuMemGetInfo(&after, nullptr));
    const bool is_shared = std::string(profile) == "orin";
    EXPECT_EQ(before - during, is_shared ? kBytes : 0) << profile;
    EXPECT_EQ(after, before) << profile;
  }
  const Gpu gpu("orin");
  cuda_twin_set("CUDA_TWIN_MEMORY", std::to_string(kBytes).c_str());
  cuda_twin_reset();
  CUcontext context = nullptr;
  void* host = nullptr;
  TWIN_OK(cuInit(0));
  TWIN_OK(cuDevicePrimaryCtxRetain(&context, 0));
  TWIN_OK(cuCtxSetCurrent(context));
  EXPECT_EQ(cuMemHostAlloc(&host, 2 * kBytes, 0), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemHostAlloc(&host, kBytes, 0));
  CUdeviceptr device = 0;
  EXPECT_EQ(cuMemAlloc(&device, 512), CUDA_ERROR_OUT_OF_MEMORY);
  TWIN_OK(cuMemFreeHost(host));
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

class UnlikeDevices : public ::testing::Test {
 protected:
  UnlikeDevices() {
    cuda_twin_reset_settings();
    cuda_twin_reset();
  }
  ~UnlikeDevices() override {
    cuda_twin_reset();
    cuda_twin_reset_settings();
  }
  static int count() {
    int devices = -1;
    TWIN_OK(cuDeviceGetCount(&devices));
    return devices;
  }
  static CUcontext use(CUdevice device) {
    CUcontext context = nullptr;
    TWIN_OK(cuDevicePrimaryCtxRetain(&context, device));
    TWIN_OK(cuCtxSetCurrent(context));
    return context;
  }
  static int peer(CUdevice_P2PAttribute which, CUdevice from, CUdevice to) {
    int value = -1;
    TWIN_OK(cuDeviceGetP2PAttribute(&value, which, from, to));
    return value;
  }
  static int can_access(CUdevice from, CUdevice to) {
    int value = -1;
    TWIN_OK(cuDeviceCanAccessPeer(&value, from, to));
    EXPECT_EQ(peer(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, from, to), value);
    return value;
  }
};

TEST_F(UnlikeDevices, HaveTheProfilesOfTheList) {
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", "h200,t4,orin"), 1);
  TWIN_OK(cuInit(0));
  EXPECT_EQ(count(), 3);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), 132);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1), 40);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2), 16);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, 2), 1);
  size_t bytes = 0;
  TWIN_OK(cuDeviceTotalMem(&bytes, 1));
  EXPECT_EQ(bytes, size_t{16} << 30);
  // A text for 9.0 runs on the first device only.
  const std::string text = twin_test::module(".visible .entry k() { ret; }");
  CUmodule loaded = nullptr;
  use(0);
  TWIN_OK(twin_test::load(text, &loaded));
  use(1);
  EXPECT_EQ(twin_test::load(text, &loaded), CUDA_ERROR_NO_BINARY_FOR_GPU);
  const Kernels kernels;
  Buffer<unsigned> numbers(4, 1u);
  TWIN_OK(kernels.add_one(numbers.address, 4, nullptr));
  EXPECT_EQ(numbers.read(), std::vector<unsigned>(4, 2u));
}

TEST_F(UnlikeDevices, ArePeersOnlyIfAskedFor) {
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", "t4,h200,t4"), 1);
  TWIN_OK(cuInit(0));
  EXPECT_EQ(can_access(0, 1), 0);
  EXPECT_EQ(can_access(1, 2), 0);
  EXPECT_EQ(can_access(0, 2), 1);
  EXPECT_EQ(peer(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 2), 1);
  const CUcontext other = use(1);
  const CUcontext first = use(0);
  EXPECT_EQ(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  CUmemoryPool pool = nullptr;
  TWIN_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_DEVICE);
  access.location.id = 2;
  TWIN_OK(cuMemPoolSetAccess(pool, &access, 1));
  // Copies need no peers.
  CUdeviceptr here = 0, there = 0;
  unsigned value = 5;
  TWIN_OK(cuMemAlloc(&here, 4));
  TWIN_OK(cuMemcpyHtoD(here, &value, 4));
  TWIN_OK(cuCtxSetCurrent(other));
  TWIN_OK(cuMemAlloc(&there, 4));
  TWIN_OK(cuMemcpyPeer(there, other, here, first, 4));
  value = 0;
  TWIN_OK(cuMemcpyDtoH(&value, there, 4));
  EXPECT_EQ(value, 5u);

  cuda_twin_set("CUDA_TWIN_PEERS", "on");
  EXPECT_EQ(can_access(0, 1), 1);
  EXPECT_EQ(peer(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1), 0);
  EXPECT_EQ(peer(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 2), 1);
  TWIN_OK(cuCtxEnablePeerAccess(first, 0));
  cuda_twin_set("CUDA_TWIN_PEERS", "off");
  EXPECT_EQ(can_access(0, 2), 0);
  EXPECT_EQ(peer(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 2), 0);
}

TEST_F(UnlikeDevices, WrongListsAreRefused) {
  EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", "t4"), 1);
  for (const char* list :
       {"t4,", ",t4", "t4,h300", "t4, h200", "T4,h200", "", "t4,t4,t4,t4,t4,t4,t4,t4,t4"})
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", list), 0) << list;
  TWIN_OK(cuInit(0));
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 40) << "nothing changed";
}

struct Numbers {
  const char* profiles;
  const char* devices;
  CUresult result;
  int count;
};

TEST_F(UnlikeDevices, TheirNumberIsThatOfTheList) {
  const Numbers all[] = {
      {"t4,h200", "2", CUDA_SUCCESS, 2},
      {"t4,h200", "1", CUDA_ERROR_INVALID_VALUE, 0},
      {"t4,h200", "3", CUDA_ERROR_INVALID_VALUE, 0},
      {"t4,h200", "0", CUDA_ERROR_NO_DEVICE, 0},
      {"t4,t4,t4,t4,p40,p40,p40,p40", "8", CUDA_SUCCESS, 8},
      {"t4", "8", CUDA_SUCCESS, 8},
      {"t4", "0", CUDA_ERROR_NO_DEVICE, 0},
  };
  for (const Numbers& each : all) {
    cuda_twin_reset();
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_PROFILE", each.profiles), 1);
    EXPECT_EQ(cuda_twin_set("CUDA_TWIN_DEVICES", each.devices), 1);
    EXPECT_EQ(cuInit(0), each.result) << each.profiles << " " << each.devices;
    if (each.result == CUDA_SUCCESS) {
      EXPECT_EQ(count(), each.count) << each.profiles;
    }
  }
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
