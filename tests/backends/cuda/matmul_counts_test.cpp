// How often products read their weights, by the counts of the twin: each byte once for few columns,
// and at most twice for 64.
#include <gtest/gtest.h>

#include "backends/cuda/cuda_devices.h"
#include "ops/common/type_lists.h"
#include "shunt/ops.h"
#include "support/sanitized.h"

namespace shunt::test::cuda_matmul_counts_test {
namespace {

constexpr std::int64_t kInner = 4096;
constexpr std::int64_t kRows = 32;

class CudaMatmulCounts : public CudaDevices, public testing::WithParamInterface<DType> {
 protected:
  /// The counts of a product with that many columns. All numbers are 0.
  KernelCounts multiply(std::int64_t columns) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(GetParam(), {kInner, kRows}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {kInner, columns}));
    EXPECT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const std::map<NodeId, RefTensor> leaves = {{w->id, RefTensor(Sizes{kInner, kRows, 1, 1})},
                                                {x->id, RefTensor(Sizes{kInner, columns, 1, 1})}};
    auto run = GraphRun::create(graph, *devices(), leaves);
    EXPECT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    return twin_.counts("matmul_" + std::string(to_string(GetParam())));
  }

  /// What all lanes read of x: a warp reads it for 4 rows. A number of 8 bits has an eighth of a
  /// scale (F32) with it.
  static double bytes_of_x(std::int64_t columns) {
    const double element = trait(GetParam()).quantized ? 1.5 : 4;
    return element * static_cast<double>(kRows / 4 * kInner * columns);
  }
  static double sectors_of_x() {
    const double element = trait(GetParam()).quantized ? 1.0 / 32 + 1.0 / 256 : 4.0 / 32;
    return element * static_cast<double>(kRows / 4 * kInner);
  }
  static double bytes_of_weights() {
    const DTypeTrait& type = trait(GetParam());
    return static_cast<double>(kRows * kInner / type.block_elements) *
           static_cast<double>(type.block_bytes);
  }
};

TEST_P(CudaMatmulCounts, OneColumnReadsEachWeightOnceInWholeSectors) {
  const KernelCounts counts = multiply(1);
  ASSERT_EQ(counts.launches, 1U);
  EXPECT_LE(static_cast<double>(counts.bytes_read) - bytes_of_x(1), 1.1 * bytes_of_weights());
  EXPECT_LE(static_cast<double>(counts.sectors) - sectors_of_x(), bytes_of_weights() / 32 / 0.75);
}

TEST_P(CudaMatmulCounts, ManyColumnsReadEachWeightAtMostTwice) {
  // With tensor cores and without.
  for (const char* profile : {"h200", "p40"}) {
    registry_.reset();
    twin_.set("CUDA_TWIN_PROFILE", profile);
    twin_.restart();
    open();
    const KernelCounts counts = multiply(64);
    ASSERT_EQ(counts.launches, 1U) << profile;
    EXPECT_LE(static_cast<double>(counts.bytes_read) - bytes_of_x(64), 2 * bytes_of_weights())
        << profile;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, CudaMatmulCounts, testing::ValuesIn(every(5, kWeightTypes)),
                         [](const auto& type) { return std::string(to_string(type.param)); });

}  // namespace
}  // namespace shunt::test::cuda_matmul_counts_test
