// The interface in numbers: against the vendor's documents, and against its header where that is
// installed.
#include "abi.h"

#include <map>
#include <string>

#include "support.h"

namespace abi_test {

std::map<std::string, long long> twin() {
  std::map<std::string, long long> facts;
  for (const Fact& fact : facts_of_twin()) facts[fact.name] = fact.value;
  return facts;
}

TEST(Abi, HasTheDocumentedSizesOffsetsAndNumbers) {
  const auto facts = twin();
  const Fact known[] = {
      {"size of CUlaunchConfig", 56},
      {"CUlaunchConfig.sharedMemBytes", 24},
      {"CUlaunchConfig.hStream", 32},
      {"CUlaunchConfig.attrs", 40},
      {"CUlaunchConfig.numAttrs", 48},
      {"size of CUlaunchAttribute", 72},
      {"CUlaunchAttribute.value", 8},
      {"size of CUDA_KERNEL_NODE_PARAMS", 72},
      {"size of CUDA_KERNEL_NODE_PARAMS_v1", 56},
      {"CUDA_KERNEL_NODE_PARAMS.kernelParams", 40},
      {"CUDA_KERNEL_NODE_PARAMS.ctx", 64},
      {"size of CUDA_MEMCPY2D", 128},
      {"size of CUDA_MEMCPY3D", 200},
      {"size of CUDA_MEMSET_NODE_PARAMS", 40},
      {"size of CUmemAllocationProp", 32},
      {"size of CUmemAccessDesc", 12},
      {"size of CUmemLocation", 8},
      {"size of CUtensorMap", 128},
      {"size of CUgraphNodeParams", 256},
      {"size of CUgraphEdgeData", 8},
      {"size of CUuuid", 16},
      {"size of CUDA_GRAPH_INSTANTIATE_PARAMS", 32},
      {"size of CUmemPoolProps", 88},
      {"CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 97},
      {"CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED", 127},
      {"CU_JIT_ERROR_LOG_BUFFER", 5},
      {"CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 8},
      {"CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION", 6},
      {"CU_STREAM_CAPTURE_MODE_RELAXED", 2},
      {"CUDA_ERROR_LAUNCH_FAILED", 719},
      {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", 910},
  };
  for (const Fact& fact : known) {
    ASSERT_TRUE(facts.contains(fact.name)) << fact.name;
    EXPECT_EQ(facts.at(fact.name), fact.value) << fact.name;
  }
}

TEST(Abi, EqualsTheVendorsHeader) {
  const auto vendors = facts_of_vendor();
  if (vendors.empty()) GTEST_SKIP() << "cuda.h of CUDA 13 is not installed";
  const auto facts = twin();
  EXPECT_GT(vendors.size(), 600u);
  for (const Fact& fact : vendors) EXPECT_EQ(facts.at(fact.name), fact.value) << fact.name;
}

}  // namespace abi_test
