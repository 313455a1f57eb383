// When there is a device, and why there is none.
#include "backends/zdnn/support.h"

namespace shunt::test::discovery_test {
namespace {

class ZdnnDiscovery : public ZdnnTest {
 protected:
  void SetUp() override {}
  const BackendStatus& status() const {
    for (const BackendStatus& backend : registry_->backends()) {
      if (backend.name == "zdnn") return backend;
    }
    throw std::runtime_error("there is no zDNN backend in this build");
  }
  void open_library(const std::string& path) {
    Options options;
    options.libraries["zdnn"] = path;
    registry_ = std::move(*Registry::create(options));
  }
};

TEST_F(ZdnnDiscovery, TwinReportsThatItIsATwin) {
  for (const char* profile : {"z17", "z16"}) {
    open(profile);
    if (IsSkipped()) return;
    const DeviceInfo info = zdnn().info();
    EXPECT_TRUE(info.twin);
    EXPECT_THAT(info.description, testing::HasSubstr(profile));
    EXPECT_THAT(info.description, testing::HasSubstr("1.1.2-twin"));
    EXPECT_EQ(info.kind, DeviceKind::kAccelerator);
    EXPECT_GT(info.memory_total, 0U);
    EXPECT_LE(zdnn().memory_free(), info.memory_total);
  }
}

TEST_F(ZdnnDiscovery, MachineWithoutAnAcceleratorHasNoDevice) {
  twin_ = std::make_unique<ZdnnTwin>();
  if (!twin_->there()) GTEST_SKIP() << "there is no twin of zDNN in this build";
  twin_->set("ZDNN_TWIN_PROFILE", "none");
  registry_ = std::move(*Registry::create(twin_->options()));
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, testing::HasSubstr("no integrated accelerator"));
  EXPECT_FALSE(registry_->find("zdnn0"));
}

TEST_F(ZdnnDiscovery, MissingLibraryIsNamed) {
  open_library("/no/such/libzdnn.so.0");
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, testing::HasSubstr("/no/such/libzdnn.so.0"));
}

TEST_F(ZdnnDiscovery, RejectsAnUnrelatedLibrary) {
  open_library("libc.so.6");
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, testing::HasSubstr("zdnn_is_nnpa_installed"));
}

/// Reasons name the machine, or the library.
TEST_F(ZdnnDiscovery, UnsupportedOpsNameTheMissingFeature) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto root = sqrt(g, x);
  const auto product = matmul(g, x, x);
  const auto half_x = g.input("half", *make_tensor(DType::kF16, {64, 5}));
  const auto half = silu(g, half_x);
  ASSERT_TRUE(g.output(root, "root"));
  const auto graph = built(std::move(g));
  open("z16");
  if (IsSkipped()) return;
  EXPECT_EQ(zdnn().supports(*graph, root->id).refusal(), Refusal::kVendorFunction);
  EXPECT_THAT(zdnn().supports(*graph, root->id).facts(), testing::HasSubstr("z17"));
  EXPECT_TRUE(zdnn().supports(*graph, product->id));
  EXPECT_EQ(zdnn().supports(*graph, half->id).refusal(), Refusal::kType);
  open("z17");
  EXPECT_TRUE(zdnn().supports(*graph, root->id));
  open("z17", true);
  EXPECT_THAT(zdnn().supports(*graph, root->id).facts(), testing::HasSubstr("has no zdnn_sqrt"));
  EXPECT_TRUE(zdnn().supports(*graph, product->id));
}

/// The smallest number of DLFLOAT16 is 2^-31 (1 + 2^-9): z/Architecture Principles of Operation.
TEST_F(ZdnnDiscovery, RejectsAScaleBelowTheSmallestDlfloat16) {
  constexpr float kLeast = 0x1.008p-31F;
  open("z16");
  if (IsSkipped()) return;
  for (const float factor : {kLeast, -kLeast, 0.0F, -0.0F, 1.0F, 0.99F * kLeast, -1e-20F}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto y = scale(g, x, {.scale = factor});
    ASSERT_TRUE(g.output(y, "y"));
    const auto graph = built(std::move(g));
    const Support answer = zdnn().supports(*graph, y->id);
    const bool too_small = factor != 0 && std::abs(factor) < kLeast;
    EXPECT_EQ(static_cast<bool>(answer), !too_small) << factor << ": " << answer.facts();
    if (!too_small) continue;
    EXPECT_EQ(answer.refusal(), Refusal::kParameter);
  }
}

}  // namespace
}  // namespace shunt::test::discovery_test
