// Finite numbers that DLFLOAT16 does not have become the largest one that it has, and that is
// counted. (The other choice: numbers_test.cpp.)
#include <cmath>
#include <limits>

#include "backends/zdnn/support.h"

namespace shunt::test::saturation_test {
namespace {

using testing::HasSubstr;

/// 2^32 (1 + 510 / 512), by the documentation of the format.
constexpr double kLargest = 8573157376.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A code of the machine's functions (Principles of Operation, NNPA).
constexpr std::uint32_t kMatmulShared = 114;

class ZdnnSaturation : public ZdnnTooLargeTest {
 protected:
  /// As a transform says nothing of such numbers, it is the operation that does, and is asked
  /// again.
  bool is_silent() const { return std::string_view(GetParam()) == "silent"; }

  /// Small values but one, which is `large` in `leaves` and the largest number in the returned map.
  static std::map<NodeId, RefTensor> with_one(std::map<NodeId, RefTensor>& leaves, NodeId leaf,
                                              std::size_t at, double large) {
    for (double& value : leaves[leaf].data) value *= 0.01;
    leaves[leaf].data[at] = large;
    auto saturated = leaves;
    saturated[leaf].data[at] = std::copysign(kLargest, large);
    return saturated;
  }

  void expect_warning(std::string_view node, std::uint64_t count,
                      std::string_view what = "which were saturated") {
    const auto warnings = zdnn().warnings();
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_THAT(warnings[0].text, HasSubstr(std::string(node)));
    EXPECT_THAT(warnings[0].text, HasSubstr(std::string(what)));
    EXPECT_EQ(warnings[0].count, count);
  }
};

/// Only results of the machine have such a limit, and only where such numbers saturate.
TEST_P(ZdnnSaturation, LargestNumberDependsOnTheNode) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
  const auto product = matmul(g, w, x);
  const auto sorted = argsort(g, x);
  ASSERT_TRUE(g.output(product, "y"));
  ASSERT_TRUE(g.output(sorted, "order"));
  const auto graph = built(std::move(g));
  EXPECT_EQ(zdnn().largest_number(*graph, product->id), kLargest);
  EXPECT_EQ(zdnn().largest_number(*graph, sorted->id), kInfinity);
  out_of_range_ = "exact";
  open("z17");
  EXPECT_EQ(zdnn().largest_number(*graph, product->id), kInfinity);
}

TEST_P(ZdnnSaturation, OfInputsIsCountedAndComputedByTheMachine) {
  for (const char* profile : {"z17", "z16"}) {
    for (const double large : {1e10, -3e30, 8.6e9}) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        open(profile);
        GraphBuilder g;
        const auto x = g.input("x", *make_tensor(dtype, {64, 5, 2}));
        const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
        const auto product = matmul(g, w, x);
        ASSERT_TRUE(g.name(product, "the product"));
        ASSERT_TRUE(g.output(scale(g, product, {.scale = 0.5F}), "y"));
        const auto graph = built(std::move(g));
        auto leaves = values(*graph);
        for (double& value : leaves[w->id].data) value *= 0.1;  // or the result were beyond
        auto saturated = with_one(leaves, x->id, 64 * 5 + 67, large);
        twin_->reset_counts();
        const RefTensor got = run(graph, leaves);
        const std::uint64_t products = twin_->calls(kMatmulShared);
        // The largest number is none of BF16.
        std::vector<RefTensor> by_node(graph->size());
        for (const auto& [id, value] : saturated) {
          by_node[id] = id == x->id ? value : rounded(value, graph->node(id).result.dtype);
        }
        const RefTensor right = (*reference_run(*graph, by_node))[graph->outputs()[0]];
        EXPECT_LT(nmse(got, right), kChainError) << large;
        EXPECT_EQ(products, is_silent() ? 2U : 1U) << "products";
        expect_warning("the product (matmul)", 1);
        EXPECT_EQ(twin_->objections(), 0U);
      }
    }
  }
}

/// More numbers than are looked at at once, and none that follow each other in memory.
TEST_P(ZdnnSaturation, FindsOutOfRangeValuesAnywhere) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{4000 * 599 + 7}}) {
    open("z16");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {600, 4000}));
    const auto turned = permute(g, x, {1, 0, 2, 3});
    ASSERT_TRUE(g.output(add(g, turned, turned), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    leaves[x->id].data[at] = -1e10;
    const RefTensor got = run(graph, leaves);
    RefTensor right = expected(*graph, leaves);
    // Twice the largest number is beyond as well.
    for (double& value : right.data) value = std::max(value, -kLargest);
    EXPECT_LT(nmse(got, right), kChainError);
    expect_warning("(add)", 1);
  }
}

TEST_P(ZdnnSaturation, OfWeightsIsCountedAtEveryUse) {
  for (const bool row : {false, true}) {
    open("z17");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {64, row ? 1 : 7}));
    ASSERT_TRUE(g.output(row ? mul(g, x, w) : matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    for (double& value : leaves[x->id].data) value *= 0.1;
    const auto saturated = with_one(leaves, w->id, 3, 1e12);
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    for (int times = 1; times <= 3; ++times) {
      ASSERT_TRUE((*run)->plan().run());
      const auto got = (*run)->output(graph->outputs()[0]);
      ASSERT_TRUE(got);
      EXPECT_LT(nmse(*got, expected(*graph, saturated)), kChainError);
      expect_warning("y (", static_cast<std::uint64_t>(times));
    }
  }
}

/// Where a weight has an infinity as well, the plain meaning is computed with the other numbers as
/// they would be.
TEST_P(ZdnnSaturation, OfWeightsWithAnInfinityUsesTheHostFallback) {
  for (const bool row : {false, true}) {
    open("z17");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {64, row ? 1 : 7}));
    ASSERT_TRUE(g.output(row ? mul(g, x, w) : matmul(g, w, x), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    for (double& value : leaves[x->id].data) value *= 0.001;
    auto saturated = with_one(leaves, w->id, row ? 3 : 67, 1e12);
    for (auto* each : {&leaves, &saturated}) (*each)[w->id].data[row ? 7 : 130] = kInfinity;
    const RefTensor got = run(graph, leaves);
    const RefTensor right = expected(*graph, saturated);
    for (std::int64_t t = 0; t < 5; ++t) {
      const std::int64_t column = row ? 3 : 1;
      EXPECT_NEAR(got.at(column, t), right.at(column, t), 1e-5 * std::fabs(right.at(column, t)));
      EXPECT_EQ(got.at(row ? 7 : 2, t), right.at(row ? 7 : 2, t)) << "infinite";
    }
    expect_warning("y (", 1);
  }
}

/// Data that are written to a weight afterwards are looked at as the first were.
TEST_P(ZdnnSaturation, OfAWeightIsCheckedAgainAfterAWrite) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  for (double& value : leaves[x->id].data) value *= 0.1;
  (void)with_one(leaves, w->id, 3, 1e12);
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  expect_warning("y (matmul)", 1);
  const float small = 0.25F;
  const Address at = (*run)->address(w->id);
  ASSERT_TRUE(at.buffer->write(at.offset + 3 * sizeof(float), std::as_bytes(std::span(&small, 1))));
  leaves[w->id].data[3] = small;
  ASSERT_TRUE((*run)->plan().run());
  const auto got = (*run)->output(graph->outputs()[0]);
  ASSERT_TRUE(got);
  EXPECT_LT(nmse(*got, expected(*graph, leaves)), kChainError);
  expect_warning("y (matmul)", 1);
}

/// The largest number of F16 is next to one of the machine's that F16 has not.
TEST_P(ZdnnSaturation, DoesNotChangeWeightsThatAreReadBack) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF16, {64, 7}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  leaves[w->id].at(3, 2) = 65504;
  leaves[w->id].at(4, 2) = -65504;
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_TRUE((*run)->plan().run());
  const auto read = (*run)->leaf(w->id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at(3, 2), 65504);
  EXPECT_EQ(read->at(4, 2), -65504);
}

/// Of left sides that are no weights, on all the ways on which they come into the layout.
TEST_P(ZdnnSaturation, OfLeftOperands) {
  for (const char* profile : {"z17", "z16"}) {
    open(profile);
    GraphBuilder g;
    const auto w = g.input("w", *make_tensor(DType::kF32, {40, 6, 2}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {40, 5, 4}));
    const auto y = matmul(g, w, x);
    ASSERT_TRUE(g.output(y, "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    for (double& value : leaves[x->id].data) value *= 0.1;
    const auto saturated = with_one(leaves, w->id, 40 * 6 + 41, 1e11);
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, saturated)), kChainError) << profile;
    expect_warning("y (matmul)", 1);
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

/// Of one that is transposed by parts, as it is too large for all at once; in runs with less of it.
TEST_P(ZdnnSaturation, OfLargeLeftOperands) {
  constexpr std::int64_t kMost = 4100;
  open("z16");
  GraphBuilder g;
  const auto rows = g.dynamic_dim("rows", kMost);
  ASSERT_TRUE(rows);
  const auto w = g.input("w", *make_tensor(DType::kBF16, {1030, *rows, 2, 2}));
  const auto x = g.input("x", *make_tensor(DType::kF32, {1030, 1, 4, 2}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  for (double& value : leaves[x->id].data) value *= 0.01;
  leaves[w->id].at(1029, 2, 1, 1) = 0x1p34;  // a number of BF16
  std::vector<RefTensor> by_node(graph->size());
  for (const auto& [id, value] : leaves) {
    by_node[id] = rounded(value, graph->node(id).result.dtype);
  }
  by_node[w->id].at(1029, 2, 1, 1) = kLargest;
  const RefTensor all = (*reference_run(*graph, by_node))[graph->outputs()[0]];
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  // 2 bytes an element, and pages; but not the 4 of each that is transposed.
  EXPECT_LT((*run)->plan().memory().front().activations, 3U * 1030 * kMost * 4);
  for (const std::int64_t size : {kMost, std::int64_t{3}, kMost - 1}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*rows, size));
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    RefTensor right({size, 1, 4, 2});
    for (std::int64_t row = 0; row < 8; ++row) {
      std::copy_n(all.data.begin() + row * kMost, size, right.data.begin() + row * size);
    }
    EXPECT_LT(nmse(*got, right), kChainError) << size;
  }
  EXPECT_EQ(twin_->objections(), 0U);
  expect_warning("y (matmul)", 3);
}

/// Of numbers that a kernel brings in itself: an operand that is repeated by blocks, rows of a
/// product that is cut, and pieces of its left side.
TEST_P(ZdnnSaturation, OfOperandsTransformedInPieces) {
  enum class What { kOperand, kRows, kLeft };
  for (const What what : {What::kOperand, What::kRows, What::kLeft}) {
    open("z16");
    GraphBuilder g;
    const bool product = what != What::kOperand;
    const auto a = g.input("a", *make_tensor(DType::kF32, {product ? 33000 : 70, 6}));
    const auto b = g.input("b", *make_tensor(DType::kF32, {product ? 33000 : 35, product ? 2 : 3}));
    ASSERT_TRUE(g.output(product ? matmul(g, a, b) : mul(g, a, b), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    const NodeId large = what == What::kLeft ? a->id : b->id;
    for (double& value : leaves[large == a->id ? b->id : a->id].data) value *= 0.01;
    const auto saturated = with_one(leaves, large, product ? 20000 : 40, 1e12);
    twin_->reset_counts();
    const RefTensor got = run(graph, leaves);
    EXPECT_GT(twin_->operations(), 0U) << "of the machine";
    EXPECT_LT(nmse(got, expected(*graph, saturated)), kChainError);
    expect_warning("y (", 1);
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

/// If only a result is beyond the range, it is computed without the machine. It becomes the
/// machine's largest number: the logarithm of e^x is x up to that.
TEST_P(ZdnnSaturation, OfResults) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto y = exp(g, scale(g, x, {.scale = 20}));
  ASSERT_TRUE(g.name(y, "the exponential"));
  ASSERT_TRUE(g.output(log(g, y), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  for (double& value : leaves[x->id].data) value = std::fabs(value);  // e^-x may be nothing
  RefTensor right = leaves[x->id];
  bool any = false;
  for (double& value : right.data) {
    any |= 20 * value > std::log(kLargest);
    value = std::min(20 * value, std::log(kLargest));
  }
  ASSERT_TRUE(any);
  EXPECT_LT(nmse(run(graph, leaves), right), kChainError);
  expect_warning("the exponential (exp)", 1);
}

/// Where only an intermediate value is beyond the range, the result is right, and nothing
/// saturates.
TEST_P(ZdnnSaturation, IgnoresIntermediateValues) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 32}));
  ASSERT_TRUE(g.output(matmul(g, w, rms_norm(g, x)), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  for (double& value : leaves[x->id].data) value *= 1e6;  // and its square is 1e12
  EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kChainError);
  expect_warning("(rms_norm)", 1, "was computed on the host instead");
}

/// An infinity is none of the numbers that there are, and it has a meaning. So has a NaN.
TEST_P(ZdnnSaturation, IgnoresInfinitiesAndNaN) {
  for (const double large : {kInfinity, -kInfinity, std::nan("")}) {
    open("z17");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    const auto w = g.weight("w", *make_tensor(DType::kF32, {64, 7}));
    ASSERT_TRUE(g.output(relu(g, matmul(g, w, x)), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    leaves[x->id].at(3, 2) = large;
    leaves[x->id].at(4, 1) = 1e11;  // which does not matter then
    const RefTensor got = run(graph, leaves);
    auto saturated = leaves;
    saturated[x->id].at(4, 1) = kLargest;
    RefTensor right = expected(*graph, saturated);
    for (double& value : right.data) {
      if (std::isfinite(value)) value = std::min(value, kLargest);
    }
    for (std::int64_t n = 0; n < 7; ++n) {
      EXPECT_EQ(std::isfinite(got.at(n, 2)), std::isfinite(right.at(n, 2)));
    }
    EXPECT_LT(nmse(got, right), kChainError) << large;
    EXPECT_EQ(zdnn().warnings().size(), 2U) << "the product, and what reads it";
  }
}

/// A kernel computes with plain numbers before they go in. The results are the same as if those had
/// been the largest numbers.
TEST_P(ZdnnSaturation, OfInputsOfNormAndSoftmax) {
  for (const bool softmaxed : {false, true}) {
    open("z17");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
    ASSERT_TRUE(g.output(softmaxed ? softmax(g, x) : norm(g, x), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    auto saturated = leaves;
    for (std::int64_t i = 0; i < 64; ++i) leaves[x->id].at(i, 3) = i % 2 == 0 ? 1e12 : -1e12;
    for (std::int64_t i = 0; i < 64; ++i) {
      saturated[x->id].at(i, 3) = i % 2 == 0 ? kLargest : -kLargest;
    }
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, saturated)), kChainError);
    if (!softmaxed) {
      expect_warning("(norm)", 1);
      continue;
    }
    // The largest of a row is subtracted first, and values far below it count for nothing.
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(, ZdnnSaturation, kZdnnTooLarge, name_of_answer);

}  // namespace
}  // namespace shunt::test::saturation_test
