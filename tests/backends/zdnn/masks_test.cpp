// Masks of softmax, and the common part of rows. Neither is lost in DLFLOAT16, even if other nodes
// read the same tensor.
#include <cmath>
#include <limits>

#include "backends/zdnn/support.h"

namespace shunt::test::masks_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSoftmaxError = 64 * 0x1p-20;

class ZdnnMaskedSoftmax : public ZdnnTest, public testing::WithParamInterface<ZdnnMachine> {
 protected:
  void SetUp() override { open(GetParam(), "single"); }

  /// Of 33 positions a row sees those up to 20 and its own number.
  static RefTensor causal(double shown, double hidden) {
    RefTensor mask({33, 5, 1, 1});
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t i = 0; i < 33; ++i) {
        mask.at(i, row) = i > 20 + row ? hidden : shown + 0.25 * static_cast<double>(i % 7);
      }
    }
    return mask;
  }
};

/// However large the scores are there. (Beyond DLFLOAT16 they saturate, which is counted.)
TEST_P(ZdnnMaskedSoftmax, MasksLargeScores) {
  for (const double large : {1e6, 1e8, 8e9, 1e11}) {
    for (const double hidden : {-kInfinity, double{std::numeric_limits<float>::lowest()}}) {
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
      const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
      ASSERT_TRUE(g.output(softmax(g, relu(g, x), mask, {.scale = 0.5F}), "y"));
      const auto graph = built(std::move(g));
      auto leaves = values(*graph, {{mask->id, causal(0, hidden)}});
      leaves[x->id].at(30, 2) = large;
      const RefTensor got = run(graph, leaves);
      EXPECT_LT(nmse(got, expected(*graph, leaves)), kSoftmaxError) << large;
      EXPECT_EQ(got.at(30, 2), 0);
    }
  }
}

/// Beyond the machine's numbers a mask hides as minus infinity does, if such numbers saturate. If
/// not, the sum keeps its value.
TEST_P(ZdnnMaskedSoftmax, SaturatesMaskValuesOutOfRange) {
  for (const bool exact : {false, true}) {
    out_of_range_ = exact ? "exact" : "saturate";
    open(GetParam(), "single");
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {4}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {4}));
    ASSERT_TRUE(g.output(softmax(g, scale(g, x, {.scale = 1}), mask), "y"));
    const auto graph = built(std::move(g));
    std::map<NodeId, RefTensor> leaves;
    leaves[x->id] = leaves[mask->id] = RefTensor({4, 1, 1, 1});
    leaves[x->id].data = {-7e9, -7e9, 5e9, -7e9};
    leaves[mask->id].data = {0, 0, -1e10, 0};
    const RefTensor right = expected(*graph, leaves);
    EXPECT_EQ(right.data[2], 1);
    EXPECT_EQ(run(graph, leaves).data[2], exact ? 1 : 0);
  }
}

/// Tensors that replace scalars are workspace on the device's ledger. A row of 100 takes two sticks
/// of 64 columns, each a page of 4096 bytes.
TEST_P(ZdnnMaskedSoftmax, ConstantsAreWorkspace) {
  EXPECT_EQ(zdnn().own_memory().workspace, 0U);
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {100, 3}));
  ASSERT_TRUE(g.output(rms_norm(g, x), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph, {});
  (void)run(graph, leaves);
  const std::uint64_t once = zdnn().own_memory().workspace;
  EXPECT_GE(once, 2 * 4096U);
  EXPECT_EQ(once % 4096, 0U);
  (void)run(graph, leaves);
  EXPECT_EQ(zdnn().own_memory().workspace, once);
}

/// Nor are scores shown because they are low.
TEST_P(ZdnnMaskedSoftmax, MasksBesideLowScores) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
  const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
  ASSERT_TRUE(g.output(softmax(g, scale(g, x, {.scale = 1, .bias = -1e9F}), mask), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph, {{mask->id, causal(0, -kInfinity)}});
  const RefTensor got = run(graph, leaves);
  for (std::int64_t row = 0; row < 5; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < 33; ++i) {
      sum += got.at(i, row);
      if (i <= 20 + row) continue;
      EXPECT_EQ(got.at(i, row), 0);
    }
    EXPECT_NEAR(sum, 1, 0.01);
  }
}

/// A low number is not minus infinity: it hides beside scores that are not larger still.
TEST_P(ZdnnMaskedSoftmax, AddsFiniteMaskValues) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
  const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
  ASSERT_TRUE(g.output(softmax(g, relu(g, x), mask), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph, {{mask->id, causal(0, -1e9)}});
  leaves[x->id].at(30, 2) = 5e8;  // hidden
  leaves[x->id].at(30, 1) = 5e9;  // not
  const RefTensor right = expected(*graph, leaves);
  EXPECT_EQ(right.at(30, 2), 0);
  EXPECT_EQ(right.at(30, 1), 1);
  EXPECT_LT(nmse(run(graph, leaves), right), kSoftmaxError);
}

/// Rows that are hidden all over, by infinities and by numbers beside which scores are none.
TEST_P(ZdnnMaskedSoftmax, MasksWholeRows) {
  for (const double lowest : {-kInfinity, double{std::numeric_limits<float>::lowest()}}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5, 2}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
    ASSERT_TRUE(g.output(softmax(g, silu(g, x), mask, {.scale = 0.25F}), "y"));
    const auto graph = built(std::move(g));
    RefTensor hidden = causal(0, lowest);
    for (std::int64_t i = 0; i < 33; ++i) hidden.at(i, 3) = lowest;
    const auto leaves = values(*graph, {{mask->id, hidden}});
    const RefTensor got = run(graph, leaves);
    EXPECT_LT(nmse(got, expected(*graph, leaves)), kSoftmaxError);
    EXPECT_EQ(got.at(7, 3), lowest == -kInfinity ? 0 : static_cast<double>(1.0F / 33));
  }
}

/// Whatever else makes the plain meaning necessary: a mask is not limited to the machine's numbers
/// there.
TEST_P(ZdnnMaskedSoftmax, MasksInTheHostFallback) {
  for (const bool computed : {false, true}) {
    for (const float max_bias : {0.0F, 60.0F}) {
      GraphBuilder g;
      const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5, 2}));
      const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
      const auto scores = computed ? relu(g, x) : Result<Value>(x);
      ASSERT_TRUE(g.output(softmax(g, scores, mask, {.scale = 1, .max_bias = max_bias}), "y"));
      const auto graph = built(std::move(g));
      RefTensor hidden = causal(0, std::numeric_limits<float>::lowest());
      for (std::int64_t i = 0; i < 33; ++i) {
        hidden.at(i, 3) = std::numeric_limits<float>::lowest();  // beside which scores are nothing
      }
      auto leaves = values(*graph, {{mask->id, hidden}});
      leaves[x->id].at(0, 0) = kInfinity;
      const RefTensor got = run(graph, leaves);
      const RefTensor right = expected(*graph, leaves);
      for (std::int64_t i = 0; i < 33; ++i) {
        for (std::int64_t row = 1; row < 5; ++row) {
          EXPECT_NEAR(got.at(i, row, 1), right.at(i, row, 1), 1e-3) << i << ", " << row;
        }
      }
    }
  }
}

/// A mask and its tensor of shown elements are more matrices than the machine takes, and fewer.
TEST_P(ZdnnMaskedSoftmax, HandlesMoreMatricesThanTheMachineTakes) {
  constexpr std::int64_t kMost = 16385;  // of 32768, twice
  GraphBuilder g;
  const auto matrices = g.dynamic_dim("matrices", kMost);
  ASSERT_TRUE(matrices);
  const Tensor tensor = *make_tensor(DType::kF32, {3, 1, *matrices});
  const auto x = g.input("x", tensor);
  const auto mask = g.input("mask", tensor);
  ASSERT_TRUE(g.output(softmax(g, silu(g, x), mask), "y"));
  const auto graph = built(std::move(g));
  RefTensor hidden({3, 1, kMost, 1});
  for (std::size_t i = 0; i < hidden.data.size(); ++i) {
    hidden.data[i] = i % 7 == 0 || i % 60 < 3 ? -kInfinity : 0.125 * static_cast<double>(i % 5);
  }
  const auto leaves = values(*graph, {{mask->id, hidden}});
  auto run = prepare(graph, leaves);
  ASSERT_TRUE(run) << run.error().message();
  const RefTensor all = expected(*graph, leaves);
  for (const std::int64_t size : {kMost, kMost - 1, std::int64_t{100}}) {
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(*matrices, size));
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto got = (*run)->output(graph->outputs()[0], (*run)->plan().dynamic_dims());
    ASSERT_TRUE(got);
    RefTensor first({3, 1, size, 1});
    std::copy_n(all.data.begin(), first.data.size(), first.data.begin());
    EXPECT_LT(nmse(*got, first), kSoftmaxError) << size;
  }
  EXPECT_TRUE(zdnn().warnings().empty());
  EXPECT_EQ(twin_->objections(), 0U);
}

/// One binding, other masks: the next run shows the elements that one run hides.
TEST_P(ZdnnMaskedSoftmax, MaskIsReadAgainInEveryRun) {
  for (const float max_bias : {0.0F, 8.0F}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5, 3}));
    const auto mask = g.input("mask", *make_tensor(DType::kF16, {33, 5}));
    ASSERT_TRUE(g.output(softmax(g, silu(g, x), mask, {.scale = 0.5F, .max_bias = max_bias}), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    auto run = prepare(graph, leaves);
    ASSERT_TRUE(run) << run.error().message();
    RefTensor blind = causal(0, -kInfinity);
    for (std::int64_t i = 0; i < 33; ++i) blind.at(i, 1) = -kInfinity;
    RefTensor none = causal(0, 0);
    none.at(3, 3) = std::nan("");
    for (const RefTensor& each :
         {causal(0, -kInfinity), causal(0, 0), blind, causal(0, 0), none, causal(0, -kInfinity)}) {
      leaves[mask->id] = each;
      ASSERT_TRUE((*run)->set_inputs(leaves));
      ASSERT_TRUE((*run)->plan().run());
      const auto got = (*run)->output(graph->outputs()[0]);
      ASSERT_TRUE(got);
      const RefTensor right = expected(*graph, leaves);
      for (std::size_t i = 0; i < right.data.size(); ++i) {
        ASSERT_EQ(std::isnan(got->data[i]), std::isnan(right.data[i])) << i;
        if (std::isnan(right.data[i])) continue;
        ASSERT_NEAR(got->data[i], right.data[i], 0.01) << i;
      }
    }
    EXPECT_EQ(twin_->objections(), 0U);
  }
}

/// One mask for scores that are computed and for some that are not, and in a sum as well.
TEST_P(ZdnnMaskedSoftmax, MaskIsTheSameForEveryReader) {
  for (const double shown : {0.0, 5000.0}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
    auto y = add(g, softmax(g, x, mask), softmax(g, silu(g, x), mask, {.scale = 0.5F}));
    const double hidden = shown == 0 ? -kInfinity : -1e9;
    // Multiplied with infinities it would be no number.
    if (shown != 0) y = add(g, y, scale(g, tanh(g, add(g, x, mask)), {.scale = 0}));
    ASSERT_TRUE(g.output(y, "y"));
    const auto graph = built(std::move(g));
    const auto leaves = values(*graph, {{mask->id, causal(shown, hidden)}});
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kSoftmaxError);
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

/// Rows far from 0, read by several.
TEST_P(ZdnnMaskedSoftmax, SubtractsRowOffsetsForEveryReader) {
  for (const bool softmaxed : {false, true}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 6}));
    const auto a = softmaxed ? softmax(g, x) : norm(g, x);
    const auto b = softmaxed ? softmax(g, x, absent(), {.scale = 0.5F}) : norm(g, x, {.eps = 1});
    ASSERT_TRUE(g.output(add(g, a, b), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    for (double& value : leaves[x->id].data) value += 1000;
    const double bound = 2 * (softmaxed ? kSoftmaxError : 125 * 0x1p-20);
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), bound);
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

/// Nothing is beyond F32 on its way to that either.
TEST_P(ZdnnMaskedSoftmax, KeepsRowsOfOnlyLowScores) {
  for (const bool masked : {false, true}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
    const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
    const auto y = softmax(g, x, masked ? mask : absent(), {.scale = 2});
    ASSERT_TRUE(g.output(masked ? y : add(g, y, scale(g, mask, {.scale = 0})), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph, {{mask->id, RefTensor({33, 5, 1, 1})}});
    for (std::int64_t i = 0; i < 33; ++i) {
      leaves[x->id].at(i, 2) = -2e38;
      leaves[mask->id].at(i, 4) = std::numeric_limits<float>::lowest();
      leaves[x->id].at(i, 4) = i % 3 == 0 ? -1e38 : -2e38;
    }
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kSoftmaxError) << masked;
  }
}

/// Elements are hidden before they are scaled.
TEST_P(ZdnnMaskedSoftmax, MasksScoresThatScaleOutOfRange) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
  const auto mask = g.input("mask", *make_tensor(DType::kF32, {33, 5}));
  ASSERT_TRUE(g.output(softmax(g, relu(g, x), mask, {.scale = 4}), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph, {{mask->id, causal(0, -kInfinity)}});
  leaves[x->id].at(30, 2) = 8e9;
  EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), 4 * kSoftmaxError);
  EXPECT_TRUE(zdnn().warnings().empty());
}

/// A scale that the machine has no number for is not 0.
TEST_P(ZdnnMaskedSoftmax, AcceptsScalesBelowDlfloat16) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
  ASSERT_TRUE(g.output(softmax(g, relu(g, x), absent(), {.scale = 4e-10F}), "y"));
  const auto graph = built(std::move(g));
  auto leaves = values(*graph);
  leaves[x->id].at(30, 2) = 8e9;
  EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kSoftmaxError);
}

/// With a negative scale it is the lowest that count.
TEST_P(ZdnnMaskedSoftmax, SubtractsTheMaximumOfScaledScores) {
  for (const float factor : {-1.0F, -1e-3F, 0.0F, 1e-9F}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64, 6}));
    ASSERT_TRUE(g.output(softmax(g, x, absent(), {.scale = factor}), "y"));
    const auto graph = built(std::move(g));
    auto leaves = values(*graph);
    for (std::int64_t row = 0; row < 6; ++row) leaves[x->id].at(63, row) = 1000;
    for (std::int64_t row = 3; row < 6; ++row) leaves[x->id].at(7, row) = 1e9;
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kSoftmaxError) << factor;
    EXPECT_TRUE(zdnn().warnings().empty());
  }
}

/// Scores that come in with minus infinity added to them already.
TEST_P(ZdnnMaskedSoftmax, MaskMayBePartOfTheScores) {
  for (const bool whole_row : {false, true}) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {33, 5}));
    const float factor = whole_row ? 1 : 1e-9F;  // however small
    ASSERT_TRUE(g.output(softmax(g, x, absent(), {.scale = factor}), "y"));
    const auto graph = built(std::move(g));
    RefTensor scores = causal(0, -kInfinity);
    for (std::int64_t i = 0; whole_row && i < 33; ++i) scores.at(i, 3) = -kInfinity;
    const std::map<NodeId, RefTensor> leaves = {{x->id, scores}};
    EXPECT_LT(nmse(run(graph, leaves), expected(*graph, leaves)), kSoftmaxError);
    // A row without a largest score is not for the machine.
    EXPECT_EQ(zdnn().warnings().size(), whole_row ? 1U : 0U);
    open(GetParam(), "single");
  }
}

INSTANTIATE_TEST_SUITE_P(, ZdnnMaskedSoftmax, testing::ValuesIn(kZdnnMachines),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace shunt::test::masks_test
