// Numbers that the cases of check-ops don't have: tiny ones, infinities and not-a-numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cuda/cuda_devices.h"
#include "shunt/ops.h"

namespace shunt::test::cuda_numbers_test {
namespace {

using testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

RefTensor filled_with(const Sizes& sizes, double value) {
  RefTensor tensor(sizes);
  std::ranges::fill(tensor.data, value);
  return tensor;
}

class CudaNumbers : public CudaDevices {
 protected:
  void TearDown() override {
    if (!twin_.there()) return;
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }

  RefTensor run(GraphBuilder g, const Result<Value>& y, const std::map<NodeId, RefTensor>& leaves) {
    EXPECT_TRUE(y) << y.error().message();
    EXPECT_TRUE(g.output(y, "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    const auto run = GraphRun::create(graph, *devices(), leaves, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    return *(*run)->output(y->id);
  }

  /// The sums of columns: products with a row of ones, whose type has x rounded to 8 bits.
  RefTensor sums(const RefTensor& x) {
    GraphBuilder g;
    const Sizes of_w = {x.sizes[0], 1, 1, 1};
    const auto w = g.weight("w", *make_tensor(DType::kQ8_0, {of_w[0], 1}));
    const auto in = g.input("x", *make_tensor(DType::kF32, {x.sizes[0], x.sizes[1]}));
    const auto y = matmul(g, w, in);
    return run(std::move(g), y, {{w->id, filled_with(of_w, 1)}, {in->id, x}});
  }
};

TEST_F(CudaNumbers, ProductsOfTinyNumbersKeepTheirSign) {
  constexpr double kStep = 1e-36 / 127;  // tiny numbers are rounded to multiples of this
  constexpr double kValues[] = {3.5e-37, -3.5e-37, 1e-38, -1e-38, 2e-36, 1e-30, -1e-30, 0};
  RefTensor x({32, std::ssize(kValues), 1, 1});
  for (std::int64_t column = 0; column < x.sizes[1]; ++column) {
    for (std::int64_t i = 0; i < 32; ++i) x.at(i, column) = kValues[column];
  }
  const RefTensor y = sums(x);
  for (std::int64_t column = 0; column < x.sizes[1]; ++column) {
    const double expected = 32 * kValues[column];
    EXPECT_NEAR(y.at(0, column), expected, 32 * kStep / 2 + std::abs(expected) * 1e-3);
  }
}

TEST_F(CudaNumbers, InfinitiesReachTheProductsOfTheirColumnOnly) {
  for (const double strange : {kInfinity, -kInfinity, kNan}) {
    RefTensor x = filled_with({64, 3, 1, 1}, 1);
    x.at(40, 1) = strange;
    const RefTensor y = sums(x);
    EXPECT_NEAR(y.at(0, 0), 64, 0.1);
    EXPECT_FALSE(std::isfinite(y.at(0, 1))) << y.at(0, 1);
    EXPECT_NEAR(y.at(0, 2), 64, 0.1);
  }
}

/// Scores of minus infinity without a mask: their keys are not hidden.
TEST_F(CudaNumbers, NaNOfAKeyWithoutWeightReachesAttention) {
  constexpr std::int64_t kKeys = 64, kHalf = 32;
  for (const std::int64_t first : {std::int64_t{0}, kHalf}) {
    RefTensor k = filled_with({8, 1, kKeys, 1}, 1), v = k;
    for (std::int64_t n = first; n < first + kHalf; ++n) k.at(0, 0, n) = -kInfinity;
    v.at(3, 0, first + 5) = kNan;
    GraphBuilder g;
    const auto q = g.input("q", *make_tensor(DType::kF32, {8, 1, 1}));
    const auto keys = g.input("k", *make_tensor(DType::kF32, {8, 1, kKeys}));
    const auto values = g.input("v", *make_tensor(DType::kF32, {8, 1, kKeys}));
    const auto result = attention(g, q, keys, values);
    const RefTensor y =
        run(std::move(g), result,
            {{q->id, filled_with({8, 1, 1, 1}, 1)}, {keys->id, k}, {values->id, v}});
    for (std::int64_t i = 0; i < 8; ++i) {
      if (i == 3) {
        EXPECT_TRUE(std::isnan(y.at(i, 0, 0))) << y.at(i, 0, 0);
      } else {
        EXPECT_EQ(y.at(i, 0, 0), 1) << i;
      }
    }
  }
}

}  // namespace
}  // namespace shunt::test::cuda_numbers_test
