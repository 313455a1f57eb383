// Levels of kernels: a device has the highest one that it can, or that of the option, and products
// have the same bits on each.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "ops/common/type_lists.h"
#include "shunt/ops.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_levels_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Without sanitizers a whole tile of the kernel, and some.
constexpr std::int64_t kColumns = kSanitized ? 18 : 70;
constexpr std::int64_t kRows = kSanitized ? 20 : 45;

class CudaLevels : public CudaDevices {
 protected:
  void reopen(const char* profile, const char* level) {
    registry_.reset();
    twin_.set("CUDA_TWIN_PROFILE", profile);
    twin_.restart();
    Options options = twin_.options();
    options.backend_options["cuda"]["level"] = level;
    open(options);
  }
};

TEST_F(CudaLevels, ADeviceHasTheHighestLevelOrThatOfTheOption) {
  const auto description = [&] { return (*registry_->find("cuda0"))->info().description; };
  for (const auto& [profile, level, expected] :
       {std::tuple("h200", "auto", "tensor"), std::tuple("a100", "tensor", "tensor"),
        std::tuple("h200", "base", "base"), std::tuple("t4", "auto", "base"),
        std::tuple("p40", "base", "base")}) {
    reopen(profile, level);
    ASSERT_TRUE(status().loaded) << status().note;
    EXPECT_THAT(description(), HasSubstr(std::string("kernels of level ") + expected)) << profile;
  }
}

TEST_F(CudaLevels, ADeviceWithoutTheLevelStaysOffAndOthersGoOn) {
  reopen("t4", "tensor");
  EXPECT_FALSE(status().loaded);
  EXPECT_THAT(status().note, HasSubstr("cuda.level=tensor needs compute capability 8.0"));
  reopen("h200,t4", "tensor");
  EXPECT_TRUE(status().loaded);
  EXPECT_THAT(status().note, AllOf(HasSubstr("cuda1"), HasSubstr("has 7.5")));
  EXPECT_TRUE(registry_->find("cuda0"));
  EXPECT_FALSE(registry_->find("cuda1"));
}

class CudaLevelsOfProducts : public CudaLevels, public testing::WithParamInterface<DType> {
 protected:
  void SetUp() override {
    CudaLevels::SetUp();
    // Neither whole pieces nor whole rows of a warp.
    inner_ = trait(GetParam()).block_elements == 256 ? 768 : 1120;
  }
  /// The products of the weights with columns from `first` on.
  std::vector<double> multiply(std::int64_t first, std::int64_t columns) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(GetParam(), {inner_, kRows}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {inner_, columns}));
    EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const RefTensor& all = kept_values(DType::kF32, {inner_, kColumns, 1, 1}, 2);
    RefTensor part(Sizes{inner_, columns, 1, 1});
    std::copy_n(all.data.begin() + first * inner_, inner_ * columns, part.data.begin());
    const std::map<NodeId, RefTensor> leaves = {
        {w->id, kept_values(GetParam(), {inner_, kRows, 1, 1}, 1)}, {x->id, part}};
    auto run = GraphRun::create(graph, *devices(), leaves);
    EXPECT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    return (*run)->output(graph->outputs()[0]).value().data;
  }
  /// Instructions of tensor cores since the twin's start.
  std::uint64_t tensor_instructions() const {
    constexpr std::size_t kTensor = 11;
    return twin_.counts("matmul_" + std::string(to_string(GetParam()))).kinds[kTensor];
  }

  std::int64_t inner_ = 0;
};

TEST_P(CudaLevelsOfProducts, HaveTheSameBits) {
  reopen("h200", "base");
  const std::vector<double> expected = multiply(0, kColumns);
  EXPECT_EQ(tensor_instructions(), 0U);
  reopen("h200", "tensor");
  EXPECT_EQ(multiply(0, kColumns), expected);
  // IQ1_M has a shift for eight elements, too few for tensor cores.
  const bool has_tensor_kernel = trait(GetParam()).quantized && GetParam() != DType::kIQ1_M;
  EXPECT_EQ(tensor_instructions() > 0, has_tensor_kernel);
  EXPECT_LE(twin_.all_counts().worst_bank_conflict, 1U) << "at most two passes over shared memory";
  EXPECT_THAT(twin_.findings(), IsEmpty());
}

TEST_P(CudaLevelsOfProducts, DoNotDependOnTheNumberOfColumns) {
  const std::vector<double> all = multiply(0, kColumns);
  for (const std::int64_t columns : {1, 3, 17}) {
    const std::int64_t first = kColumns - columns;
    const std::vector<double> expected(all.begin() + first * kRows, all.end());
    EXPECT_EQ(multiply(first, columns), expected) << columns;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaLevelsOfProducts, testing::ValuesIn(kWeightTypes),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace shunt::test::cuda_levels_test
