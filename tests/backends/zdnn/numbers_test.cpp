// Numbers that DLFLOAT16 does not have, masks, and how far results are off.
#include <limits>

#include "backends/zdnn/support.h"

namespace shunt::test::numbers_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// As the user may choose (saturation_test.cpp tests the behaviour without that choice).
class ZdnnNumbers : public ZdnnTooLargeTest {
 protected:
  void SetUp() override {
    out_of_range_ = "exact";
    ZdnnTooLargeTest::SetUp();
  }
};
using ZdnnPrecision = ZdnnMachinesTest;

/// Nothing about them is silently wrong: the operation is computed without the machine, and counted
/// by its name.
TEST_P(ZdnnNumbers, OutOfRangeUseTheHostFallbackAndAreCounted) {
  for (const char* profile : {"z17", "z16"}) {
    for (const float large : {1e10F, -3e30F, kInfinity}) {
      open(profile);
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
      const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
      const auto product = matmul(g, w, x);
      ASSERT_TRUE(g.name(product, "the product"));
      ASSERT_TRUE(g.output(scale(g, product, {.scale = 2}), "y"));
      const auto graph = built(std::move(g));
      auto leaves = values(*graph);
      leaves[x->id].at(3, 2) = large;
      const auto error = error_of(graph, leaves);
      ASSERT_TRUE(error) << error.error().message();
      EXPECT_LT(*error, kChainError) << large;
      const auto warnings = zdnn().warnings();
      ASSERT_FALSE(warnings.empty()) << large;
      EXPECT_THAT(warnings.front().text, testing::HasSubstr("the product (matmul)"));
      EXPECT_EQ(warnings.front().count, 1U);
    }
  }
}

TEST_P(ZdnnNumbers, OutOfRangeInWeightsUseTheHostFallback) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  leaves[w->id].at(3, 2) = 1e12;
  const auto error = error_of(graph, leaves);
  ASSERT_TRUE(error) << error.error().message();
  EXPECT_LT(*error, kChainError);
  EXPECT_EQ(zdnn().warnings().size(), 1U);
}

TEST_P(ZdnnNumbers, OutOfRangeInResultsAreRight) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto y = exp(g, scale(g, x, {.scale = 20}));
  ASSERT_TRUE(g.output(log(g, y), "y"));  // of what is beyond the range, in the same segment
  const auto graph = built(std::move(g));
  const auto error = error_of(graph, values(*graph));
  ASSERT_TRUE(error) << error.error().message();
  EXPECT_LT(*error, kChainError);
  EXPECT_FALSE(zdnn().warnings().empty());
}

class ZdnnMasks : public ZdnnTooLargeTest {
 protected:
  /// Of scores that come in, and of scores that are computed there.
  void expect_right(const RefTensor& mask, DType dtype) {
    for (const bool inside : {false, true}) {
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {33, 4, 3, 2}));
      const auto m = g.input("mask", *make_tensor(dtype, {33, 4, 1, 1}));
      const auto scores = inside ? mul(g, x, x) : x;
      ASSERT_TRUE(g.output(softmax(g, scores, m, {.scale = 0.125F}), "y"));
      const auto graph = built(std::move(g));
      const auto leaves = values(*graph, {{m->id, mask}});
      const auto error = error_of(graph, leaves);
      ASSERT_TRUE(error) << error.error().message();
      EXPECT_LT(*error, kChainError) << inside;
      EXPECT_TRUE(zdnn().warnings().empty()) << "masks are no violations of any range";
      EXPECT_EQ(twin_->range_violations(), 0U);
    }
  }
};

TEST_P(ZdnnMasks, OfMinusInfinityMask) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    expect_right(
        make_values({.dtype = dtype, .sizes = {33, 4, 1, 1}, .fill = Fill::kCausalMask}, 1), dtype);
  }
}

TEST_P(ZdnnMasks, OfTheLowestNumberMask) {
  RefTensor mask =
      make_values({.dtype = DType::kF32, .sizes = {33, 4, 1, 1}, .fill = Fill::kCausalMask}, 1);
  for (double& value : mask.data) {
    if (value < 0) value = std::numeric_limits<float>::lowest();
  }
  expect_right(mask, DType::kF32);
}

/// As the CPU has it: zeros, and not the average that finite numbers would give.
TEST_P(ZdnnMasks, MayMaskWholeRows) {
  RefTensor mask({33, 4, 1, 1});
  for (std::int64_t i = 0; i < 33; ++i) mask.at(i, 1) = mask.at(i, 3) = -kInfinity;
  expect_right(mask, DType::kF32);
}

/// A row that is hidden by a finite number all over is as if it were not.
TEST_P(ZdnnMasks, MayBeAFiniteConstantOverARow) {
  RefTensor mask({33, 4, 1, 1});
  for (std::int64_t i = 0; i < 33; ++i) {
    mask.at(i, 1) = -10000;
    if (i % 3 == 0) mask.at(i, 2) = -10000;
  }
  expect_right(mask, DType::kF32);
}

/// Such numbers make a node be computed plainly. Its weights keep the values that the machine has.
TEST_P(ZdnnNumbers, OutOfRangeUseTheTransformedWeights) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_K, DType::kF16}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {256, 3}));
    const auto w = g.weight("w", *make_tensor(dtype, {256, 9}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    leaves[x->id].at(7, 1) = 1e12;
    const auto error = error_of(graph, leaves);
    ASSERT_TRUE(error) << error.error().message();
    EXPECT_LT(*error, 1e-5) << to_string(dtype);
    EXPECT_FALSE(zdnn().warnings().empty());
  }
}

/// Divisors whose inverse the machine has not, and a factor that it has not.
TEST_P(ZdnnNumbers, DivisorsWithoutAnInverseAreHandled) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto row = g.input("row", *make_tensor(DType::kF32, {64}));
  ASSERT_TRUE(g.output(div(g, x, row), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  for (double& value : leaves[x->id].data) value *= 1e9;
  for (double& value : leaves[row->id].data) value = 4e9;
  const auto error = error_of(graph, leaves);
  ASSERT_TRUE(error) << error.error().message();
  EXPECT_LT(*error, kChainError);

  GraphBuilder h;
  const auto small = scale(h, h.input("x", *make_tensor(DType::kF32, {64, 5})), {.scale = 1e-10F});
  ASSERT_TRUE(h.output(small, "y"));
  EXPECT_EQ(zdnn().supports(*built(std::move(h)), small->id).refusal(), Refusal::kParameter);
}

TEST_P(ZdnnPrecision, IsTheDeclaredRoundingError) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 50}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 70}));
  const auto y = matmul(g, w, x);
  ASSERT_TRUE(g.output(y, "y"));
  const auto graph = built(std::move(g));
  const auto error = error_of(graph, values(*graph));
  ASSERT_TRUE(error) << error.error().message();
  EXPECT_LT(*error, zdnn().rounding_error(*graph, y->id));
  EXPECT_GT(*error, 1e-8) << "F32 would be: is it the machine that computes?";
  EXPECT_EQ(devices_.back()->rounding_error(*graph, y->id), 0);
}

INSTANTIATE_TEST_SUITE_P(, ZdnnNumbers, kZdnnTooLarge, name_of_answer);
INSTANTIATE_TEST_SUITE_P(, ZdnnMasks, kZdnnTooLarge, name_of_answer);
INSTANTIATE_TEST_SUITE_P(, ZdnnPrecision, kZdnnMachinesAndSums, name_of_machine);

}  // namespace
}  // namespace shunt::test::numbers_test
