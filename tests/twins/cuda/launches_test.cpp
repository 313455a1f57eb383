// Modules, launches and their checks, occupancy.
#include <cstring>
#include <vector>

#include "vectors.h"

namespace launches_test {

using twin_test::Buffer;
using twin_test::Gpu;
using twin_test::Kernels;

TEST(Launches, ModulesHaveVariablesWithTheirValues) {
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

TEST(Launches, ParametersComeOneByOneOrInABuffer) {
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

TEST(Launches, LaunchesAreChecked) {
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

TEST(Launches, DynamicSharedMemoryAboveTheDefaultIsOptIn) {
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

TEST(Launches, OccupancyFollowsBlockSizeAndSharedMemory) {
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

TEST(Launches, LaunchAttributesAskForCooperationAndClusters) {
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

TEST(Launches, FunctionsAndStreamsShareAContext) {
  const Gpu gpu;
  const Kernels kernels;
  const CUfunction bump = kernels["bump"];
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  TWIN_OK(cuCtxCreate(&other, nullptr, 0, 0));
  TWIN_OK(cuStreamCreate(&stream, 0));
  EXPECT_EQ(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_CONTEXT);
  CUevent event = nullptr;
  TWIN_OK(cuEventCreate(&event, 0));
  TWIN_OK(cuCtxSetCurrent(gpu.context));
  EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_HANDLE);
  TWIN_OK(cuEventDestroy(event));
  TWIN_OK(cuCtxDestroy(other));
}

TEST(Launches, TensorMapsAreChecked) {
  const Gpu gpu;
  const Buffer<unsigned> tensor(64 * 64, 0u);
  CUtensorMap map, other;
  const cuuint64_t dims[] = {64, 64}, strides[] = {256}, odd[] = {250};
  const cuuint32_t box[] = {32, 8}, wide[] = {32, 257}, steps[] = {1, 1};
  void* const address = reinterpret_cast<void*>(tensor.address);
  const auto encode = [&](CUtensorMap* to, void* at, const cuuint64_t* stride,
                          const cuuint32_t* size, CUtensorMapSwizzle swizzle) {
    return cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, at, dims, stride, size,
                                  steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  const auto swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  TWIN_OK(encode(&map, address, strides, box, swizzle));
  TWIN_OK(encode(&other, static_cast<char*>(address) + 16, strides, box, swizzle));
  EXPECT_NE(std::memcmp(&map, &other, sizeof map), 0);
  EXPECT_EQ(encode(nullptr, address, strides, box, swizzle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(&map, static_cast<char*>(address) + 4, strides, box, swizzle),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(&map, address, odd, box, swizzle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(&map, address, strides, wide, swizzle), CUDA_ERROR_INVALID_VALUE);
  // A row of the box has 128 bytes.
  EXPECT_EQ(encode(&map, address, strides, box, CU_TENSOR_MAP_SWIZZLE_64B),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace launches_test
