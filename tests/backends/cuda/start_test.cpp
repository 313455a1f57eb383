// The start of the CUDA backend with a driver or a card that lacks something: it stays off with one
// line, or works without the missing feature.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "support/networks.h"

namespace shunt::test::cuda_start_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using CudaStart = CudaDevices;

TEST_F(CudaStart, ACardThatIsTooOldStaysOffAndOthersGoOn) {
  reopen({{"CUDA_TWIN_PROFILE", "m40"}});
  EXPECT_FALSE(status().loaded);
  EXPECT_EQ(status().note,
            "cuda0: Tesla M40 has compute capability 5.2; the oldest that works is 6.1");
  reopen({{"CUDA_TWIN_PROFILE", "m40,p40"}});
  EXPECT_TRUE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("cuda0: Tesla M40 has compute capability 5.2"));
  EXPECT_FALSE(registry_->find("cuda0"));
  EXPECT_TRUE(registry_->find("cuda1"));
}

TEST_F(CudaStart, ADriverWithoutDevicesStaysOff) {
  reopen({{"CUDA_TWIN_DEVICES", "0"}});
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note,
              AllOf(HasSubstr("CUDA_ERROR_NO_DEVICE (100)"), HasSubstr("nvidia-smi")));
  EXPECT_TRUE(registry_->find("cpu0"));
}

TEST_F(CudaStart, AnErrorOfTheDriverIsReportedWithNameNumberAndText) {
  // The twin refuses cuInit for a list of profiles of another length.
  reopen({{"CUDA_TWIN_PROFILE", "h200,t4"}, {"CUDA_TWIN_DEVICES", "3"}});
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, AllOf(HasSubstr("cuInit failed with CUDA_ERROR_INVALID_VALUE (1)"),
                                   HasSubstr("invalid argument")));
}

TEST_F(CudaStart, ADriverThatTheLoaderFindsIsNotUsedIfItIsATwin) {
  Options options = twin_.options();
  options.libraries.erase("cuda");  // the loader knows the twin, which is open, by its name
  open(options);
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, AllOf(HasSubstr("is a twin"), HasSubstr("--library cuda=PATH")));
}

TEST_F(CudaStart, TheOldestDriverComputes) {
  reopen({{"CUDA_TWIN_PROFILE", "a100"}, {"CUDA_TWIN_DRIVER", "11000"}});
  ASSERT_TRUE(status().loaded) << status().note;
  EXPECT_THAT((*registry_->find("cuda0"))->info().description, HasSubstr("driver for CUDA 11.0"));
  const Network network = bert();
  auto run = GraphRun::create(network.graph, *devices(), network.leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  EXPECT_TRUE(status) << status.error().message();
}

TEST_F(CudaStart, AFullCardStaysOff) {
  reopen({{"CUDA_TWIN_DRIVER_MEMORY", "on"}, {"CUDA_TWIN_MEMORY", "1048576"}});
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note,
              AllOf(HasSubstr("cuda0: "), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY (2)")));
}

/// A driver without one function of a group: what needs it is switched off, and the note says why.
struct Missing {
  const char* name;
  const char* function;
  const char* note;
};
class CudaWithout : public testing::TestWithParam<Missing> {};

TEST_P(CudaWithout, TheDeviceWorksAndTheReasonIsThere) {
  CudaTwin twin({GetParam().function});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
  twin.set("CUDA_TWIN_DEVICES", "2");
  twin.restart();
  {
    const auto registry = Registry::create(twin.options());
    ASSERT_TRUE(registry) << registry.error().message();
    const BackendStatus& status = cuda_status(**registry);
    if (lacks_kernels(status)) GTEST_SKIP() << status.note;
    EXPECT_EQ(status.note, GetParam().note);
    const auto found = (*registry)->find("cuda0"), other = (*registry)->find("cuda1");
    ASSERT_TRUE(found && other) << status.note;
    const bool has_peers = std::string_view(GetParam().name) != "peers";
    EXPECT_EQ((*found)->can_copy_from((*other)->memory()), has_peers);
    const Rows rows;
    const std::vector<Device*> devices = {*found, *(*registry)->find("cpu0")};
    auto run = GraphRun::create(rows.graph, devices, rows.leaves);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_TRUE((*run)->plan().run());
    EXPECT_TRUE((*found)->memory().allocate(std::size_t{3} << 20));
  }
  EXPECT_THAT(twin.findings(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    , CudaWithout,
    testing::Values(Missing{"virtual_memory", "cuMemMap",
                            "no virtual memory: the driver lacks cuMemMap (CUDA 10.2)"},
                    Missing{
                        "peers", "cuCtxEnablePeerAccess",
                        "no direct copies between devices: the driver lacks cuCtxEnablePeerAccess "
                        "(CUDA 4.0)"},
                    Missing{"managed", "cuMemAllocManaged",
                            "no managed memory: the driver lacks cuMemAllocManaged (CUDA 6.0)"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(CudaWithoutAPtxCompiler, TheBackendStaysOffWithARemedy) {
  CudaTwin twin;
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
  twin.set("CUDA_TWIN_FAIL_MODULE", "1+");
  const auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry) << registry.error().message();
  const BackendStatus& status = cuda_status(**registry);
  if (lacks_kernels(status)) GTEST_SKIP() << status.note;
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, testing::AllOf(HasSubstr("CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221"),
                                          HasSubstr("install libnvidia-ptxjitcompiler.so.1")));
  EXPECT_FALSE((*registry)->find("cuda0"));
}

class CudaWithoutARequiredFunction : public testing::TestWithParam<const char*> {};

TEST_P(CudaWithoutARequiredFunction, TheBackendStaysOffAndNamesIt) {
  const CudaTwin twin({GetParam()});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CUDA's driver in this build";
  const auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry) << registry.error().message();
  const BackendStatus& status = cuda_status(**registry);
  if (lacks_kernels(status)) GTEST_SKIP() << status.note;
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, HasSubstr("it has no " + std::string(GetParam()) +
                                     ", which drivers since version 450"));
}

INSTANTIATE_TEST_SUITE_P(, CudaWithoutARequiredFunction,
                         testing::Values("cuLaunchKernel", "cuDevicePrimaryCtxRelease_v2"));

}  // namespace
}  // namespace shunt::test::cuda_start_test
