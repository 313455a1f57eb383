// The start of the CANN backend: with libraries, chips or functions that are missing it stays off
// with one line, or works without the missing feature.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "backends/cann/cann_devices.h"
#include "support/gguf_bytes.h"
#include "test_paths.h"

namespace shunt::test::cann_start_test {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CannStart : public CannDevices {
 protected:
  /// A registry whose libraries of CANN are at `path`.
  void open_at(const std::string& path) {
    Options options = twin_.options();
    options.libraries["cann"] = path;
    open(options);
  }
};

TEST_F(CannStart, ADeviceHasTheFactsOfItsChip) {
  const DeviceInfo info = device().info();
  EXPECT_THAT(info.description, AllOf(HasSubstr("Ascend910B3, 20 AI cores, ACL "),
                                      HasSubstr("a twin of the libraries")));
  EXPECT_EQ(info.kind, DeviceKind::kNpu);
  EXPECT_TRUE(info.twin);
  EXPECT_TRUE(info.asynchronous);
  EXPECT_FALSE(info.host_memory);
  EXPECT_EQ(info.memory_total, std::uint64_t{64} << 30);
  EXPECT_GT(device().memory_free(), 0U);
  EXPECT_LE(device().memory_free(), info.memory_total);
}

TEST_F(CannStart, EachNpuIsADevice) {
  reopen({{"DEVICES", "3"}});
  EXPECT_TRUE(registry_->find("cann2")) << status().note;
  EXPECT_FALSE(registry_->find("cann3"));
}

TEST_F(CannStart, BothLayoutsAreFoundByFolderAndByFile) {
  for (const auto layout : {AscendTwin::Layout::kWhole, AscendTwin::Layout::kSplit}) {
    const std::string folder = AscendTwin::folder_of(layout);
    const char* const name =
        layout == AscendTwin::Layout::kWhole ? "libascendcl.so" : "libacl_rt.so";
    for (const std::string& path : {folder, folder + "/" + name}) {
      open_at(path);
      EXPECT_TRUE(registry_->find("cann0")) << path << ": " << status().note;
    }
  }
}

TEST_F(CannStart, AFolderWithoutTheLibrariesIsNamed) {
  const TempFolder empty;
  open_at(empty.path());
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, AllOf(HasSubstr(empty.path()), HasSubstr("libascendcl.so"),
                                   HasSubstr("libacl_rt.so")));
  open_at("/no/such/folder");
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("/no/such/folder"));
}

TEST_F(CannStart, LibrariesThatTheLoaderFindsAreNotUsedIfTheyAreATwin) {
  Options options = twin_.options();
  options.libraries.erase("cann");  // the loader knows the twin, which is open, by its name
  open(options);
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, AllOf(HasSubstr("is a twin"), HasSubstr("--library cann=PATH")));
}

/// libopapi.so has all operators, and must not be loaded together with the separate libraries.
TEST_F(CannStart, OfBothLayoutsInOneFolderOneIsLoaded) {
  const TempFolder both;
  for (const auto layout : {AscendTwin::Layout::kWhole, AscendTwin::Layout::kSplit}) {
    for (const auto& entry : fs::directory_iterator(AscendTwin::folder_of(layout))) {
      const fs::path to = fs::path(both.path()) / entry.path().filename();
      if (entry.is_regular_file() && !fs::exists(to)) fs::copy_file(entry.path(), to);
    }
  }
  open_at(both.path());
  EXPECT_TRUE(registry_->find("cann0")) << status().note;
  const auto is_loaded = [&](const char* name) {
    void* const library = dlopen((both.path() + "/" + name).c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  };
  EXPECT_TRUE(is_loaded("libopapi.so"));
  EXPECT_FALSE(is_loaded("libopapi_math.so"));
}

/// CANN has libraries to link programs with. Each function of theirs answers 100039.
TEST_F(CannStart, StubLibrariesAreNamedAsSuch) {
  const TempFolder stubs;
  for (const char* name : {"libascendcl.so", "libnnopbase.so", "libopapi.so"})
    fs::copy_file(SHUNT_TEST_CANN_STUB, fs::path(stubs.path()) / name);
  open_at(stubs.path());
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note,
              AllOf(HasSubstr("aclInit failed"), HasSubstr("100039"), HasSubstr("a stub")));
}

TEST_F(CannStart, ADriverWithoutDevicesStaysOff) {
  reopen({{"PROFILE", "none"}});
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("npu-smi info"));
  EXPECT_TRUE(registry_->find("cpu0"));
}

TEST_F(CannStart, ChipsThatAreNotSupportedStayOffWithTheirName) {
  for (const char* name : {"Ascend910A", "Ascend910ProB", "Ascend950", "Ascend999"}) {
    reopen({{"SOC", name}});
    EXPECT_FALSE(status().loaded) << name;
    EXPECT_THAT(status().note,
                AllOf(HasSubstr(std::string("the chip \"") + name + "\" is not supported"),
                      HasSubstr("report its name")));
  }
}

TEST_F(CannStart, EachNameOfASupportedChipIsKnown) {
  for (const auto& [profile, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"910b", "Ascend910B1"},
                                                                  {"910b", "Ascend910B4-1"},
                                                                  {"910b", "Ascend910_9362"},
                                                                  {"310p", "Ascend310P7"},
                                                                  {"310b", "Ascend310B4"}}) {
    reopen({{"PROFILE", profile}, {"SOC", name}});
    ASSERT_TRUE(status().loaded) << name << ": " << status().note;
    EXPECT_THAT(device().info().description, HasSubstr(name));
  }
}

/// Without the path to the package of operators the device computes nothing.
TEST_F(CannStart, WithoutThePackageOfOperatorsTheReasonNamesItsVariable) {
  reopen({{"OPP", "missing"}});
  if (!status().loaded) {
    EXPECT_THAT(status().note, HasSubstr("set_env.sh"));
    return;
  }
  const Rows rows;
  const Support support = device().supports(*rows.graph, rows.result, {});
  ASSERT_FALSE(support);
  EXPECT_THAT(support.facts(), HasSubstr("set_env.sh"));
}

/// A program that uses CANN itself keeps it initialized.
TEST_F(CannStart, LibrariesThatAreInitializedAlreadyAreUsedAndLeftSo) {
  registry_.reset();
  ASSERT_EQ(twin_.find<int(const char*)>("aclInit")(nullptr), 0);
  open();
  EXPECT_TRUE(registry_->find("cann0")) << status().note;
  const auto ends = twin_.calls("aclFinalize");
  registry_.reset();
  EXPECT_EQ(twin_.calls("aclFinalize"), ends);
  EXPECT_EQ(twin_.find<int()>("aclFinalize")(), 0);
}

/// Two registries use the libraries at once. The last one ends them.
TEST_F(CannStart, TheLastRegistryEndsTheLibraries) {
  auto other = Registry::create(twin_.options());
  ASSERT_TRUE(other) << other.error().message();
  const auto ends = twin_.calls("aclFinalize");
  registry_.reset();
  EXPECT_EQ(twin_.calls("aclFinalize"), ends);
  const Rows rows;
  const std::vector<std::string> names = {"cann0"};
  {
    auto run = GraphRun::create(rows.graph, *(*other)->select(names), rows.leaves);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_TRUE((*run)->plan().run());
  }
  other->reset();
  EXPECT_EQ(twin_.calls("aclFinalize"), ends + 1);
}

/// The newer layout counts its users.
TEST(CannStartOfTheNewerLayout, UsersAreCountedByTheLibrary) {
  AscendTwin twin(AscendTwin::Layout::kSplit);
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  twin.set("STRICT", "status");
  {
    const auto registry = Registry::create(twin.options());
    ASSERT_TRUE(registry) << registry.error().message();
    EXPECT_TRUE((*registry)->find("cann0")) << cann_status(**registry).note;
  }
  EXPECT_EQ(twin.calls("aclFinalizeReference"), 1U);
  EXPECT_EQ(twin.calls("aclFinalize"), 0U);
  EXPECT_EQ(twin.count(AscendCount::kObjections), 0U) << twin.last_objection();
}

/// Libraries without a function that some feature needs: the feature is off, and the note says why.
struct Missing {
  const char* name;
  const char* function;
  const char* note;  ///< null: it costs only speed
};
class CannWithout : public testing::TestWithParam<Missing> {};

TEST_P(CannWithout, TheDeviceWorksAndTheReasonIsThere) {
  AscendTwin twin({GetParam().function});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  twin.set("STRICT", "status");
  {
    const auto registry = Registry::create(twin.options());
    ASSERT_TRUE(registry) << registry.error().message();
    const BackendStatus& status = cann_status(**registry);
    if (GetParam().note == nullptr) {
      EXPECT_EQ(status.note, "");
    } else {
      EXPECT_THAT(status.note, HasSubstr(GetParam().note));
    }
    const auto found = (*registry)->find("cann0");
    ASSERT_TRUE(found) << status.note;
    const Rows rows;
    const std::vector<Device*> devices = {*found, *(*registry)->find("cpu0")};
    auto run = GraphRun::create(rows.graph, devices, rows.leaves, {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE((*run)->plan().run());
  }
  EXPECT_EQ(twin.count(AscendCount::kObjections), 0U) << twin.last_objection();
}

INSTANTIATE_TEST_SUITE_P(
    , CannWithout,
    testing::Values(
        Missing{"capture", "aclmdlRICaptureBegin",
                "no captured graphs: the library lacks aclmdlRICaptureBegin (CANN 8.1)"},
        Missing{"peers", "aclrtDeviceEnablePeerAccess",
                "no direct copies between devices: the library lacks "
                "aclrtDeviceEnablePeerAccess (CANN 7.0)"},
        Missing{"times", "aclrtEventElapsedTime",
                "no times of work in traces: the library lacks aclrtEventElapsedTime (CANN 7.0)"},
        Missing{"copies_of_rows", "aclrtMemcpy2dAsync", nullptr},
        Missing{"determinism", "aclrtCtxSetSysParamOpt",
                "no results with the same bits in each run: the library lacks "
                "aclrtCtxSetSysParamOpt (CANN 8.0)"}),
    [](const auto& test) { return std::string(test.param.name); });

/// Ops that need an operator which the libraries lack are refused by its name. Others work.
TEST(CannWithoutAnOperator, TheOpsThatNeedItAreRefusedByItsName) {
  AscendTwin twin({"aclnnMulGetWorkspaceSize"});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  const auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry) << registry.error().message();
  const auto device = (*registry)->find("cann0");
  ASSERT_TRUE(device) << cann_status(**registry).note;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {8}));
  const auto product = mul(g, x, x), sum = add(g, x, x);
  ASSERT_TRUE(g.output(product, "p"));
  ASSERT_TRUE(g.output(sum, "s"));
  const Graph graph = std::move(*std::move(g).build());
  const Support refused = (*device)->supports(graph, product->id, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.facts(), HasSubstr("the library has no aclnnMul"));
  EXPECT_TRUE((*device)->supports(graph, sum->id, {}));
}

class CannWithoutARequiredFunction : public testing::TestWithParam<const char*> {};

TEST_P(CannWithoutARequiredFunction, TheBackendStaysOffAndNamesIt) {
  const AscendTwin twin({GetParam()});
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  const auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry) << registry.error().message();
  const BackendStatus& status = cann_status(**registry);
  EXPECT_FALSE(status.loaded);
  EXPECT_THAT(status.note, HasSubstr("it has no " + std::string(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(, CannWithoutARequiredFunction,
                         testing::Values("aclrtMalloc", "aclCreateTensor",
                                         "aclDestroyAclOpExecutor"));

}  // namespace
}  // namespace shunt::test::cann_start_test
