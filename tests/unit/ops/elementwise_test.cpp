// elementwise, activation and norm by hand.
#include <cmath>

#include "unit/ops/values.h"

namespace shunt::ops_elementwise_test {
namespace {

using testing::ElementsAre;

const Leaf kFour = {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}};

RefTensor add_leaves(const Leaf& a, const Leaf& b) {
  return evaluate({a, b}, [](GraphBuilder& g, const Values& x) { return add(g, x[0], x[1]); });
}

TEST(Add, BroadcastsTheSecondOperand) {
  const std::vector<double> tens = {10, 20};
  EXPECT_THAT(add_leaves(kFour, {.sizes = {2, 1, 1, 1}, .data = tens}).data,
              ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(add_leaves(kFour, {.sizes = {1, 2, 1, 1}, .data = tens}).data,
              ElementsAre(11, 12, 23, 24));
  const Leaf row = {.sizes = {4, 1, 1, 1}, .data = {1, 2, 3, 4}};
  EXPECT_THAT(add_leaves(row, {.sizes = {2, 1, 1, 1}, .data = tens}).data,
              ElementsAre(11, 22, 13, 24));
}

TEST(Mul, MultipliesElementByElement) {
  const auto y = evaluate({kFour, {.sizes = {2, 1, 1, 1}, .data = {10, -1}}},
                          [](GraphBuilder& g, const Values& x) { return mul(g, x[0], x[1]); });
  EXPECT_THAT(y.data, ElementsAre(10, -2, 30, -4));
}

TEST(Scale, ScalesThenAdds) {
  const auto y = evaluate({kFour}, [](GraphBuilder& g, const Values& x) {
    return scale(g, x[0], {.scale = 3, .bias = 0.5F});
  });
  EXPECT_THAT(y.data, ElementsAre(3.5, 6.5, 9.5, 12.5));
}

TEST(Add1, AddsANumberToEachElement) {
  const auto y = evaluate({kFour, {.data = {0.5}}},
                          [](GraphBuilder& g, const Values& x) { return add1(g, x[0], x[1]); });
  EXPECT_THAT(y.data, ElementsAre(1.5, 2.5, 3.5, 4.5));
}

TEST(AddId, AddsTheRowSelectedByEachId) {
  // Two columns of two tokens; three biases.
  const Leaf x = {.sizes = {2, 2, 2, 1}, .data = {1, 2, 3, 4, 5, 6, 7, 8}};
  const Leaf b = {.sizes = {2, 3, 1, 1}, .data = {10, 20, 100, 200, 1000, 2000}};
  const Leaf ids = {.dtype = DType::kI32, .sizes = {2, 2, 1, 1}, .data = {2, 0, 0, 1}};
  const auto y = evaluate(
      {x, b, ids}, [](GraphBuilder& g, const Values& v) { return add_id(g, v[0], v[1], v[2]); });
  EXPECT_THAT(y.data, ElementsAre(1001, 2002, 13, 24, 15, 26, 107, 208));
}

TEST(Elementwise, KeepsTheTypeOfItsFirstOperand) {
  GraphBuilder g;
  const auto half = g.input("half", *make_tensor(DType::kF16, {4}));
  const auto brain = g.input("brain", *make_tensor(DType::kBF16, {4}));
  const auto full = g.input("full", *make_tensor(DType::kF32, {4}));
  const auto type_of = [&](const Result<Value>& y) { return g.tensor(*y).dtype; };
  EXPECT_EQ(type_of(add(g, half, full)), DType::kF16);
  EXPECT_EQ(type_of(mul(g, brain, brain)), DType::kBF16);
  EXPECT_EQ(type_of(sub(g, full, half)), DType::kF32);
  EXPECT_EQ(type_of(div(g, half, brain)), DType::kF16);
  EXPECT_EQ(type_of(swiglu(g, brain, half)), DType::kBF16);
  EXPECT_EQ(type_of(swiglu_fused(g, half)), DType::kF16);
  EXPECT_EQ(type_of(silu(g, brain)), DType::kBF16);
  EXPECT_EQ(type_of(clamp(g, half, {})), DType::kF16);
  EXPECT_EQ(type_of(rms_norm(g, half)), DType::kF16);
  EXPECT_EQ(type_of(sum(g, brain)), DType::kBF16);
  EXPECT_EQ(type_of(argsort(g, half)), DType::kI32);
}

TEST(Silu, WeighsByTheSigmoid) {
  // The sigmoid of ln 3 is 3/4, that of its negative 1/4.
  const double ln3 = std::log(3);
  const auto y = evaluate({{.sizes = {4, 1, 1, 1}, .data = {0, ln3, -ln3, -1000}}},
                          [](GraphBuilder& g, const Values& x) { return silu(g, x[0]); });
  EXPECT_THAT(y.data, is_near({0, 0.75 * ln3, -0.25 * ln3, 0}));
}

TEST(Swiglu, MultipliesUpBySiluOfGate) {
  const double ln3 = std::log(3);
  const auto y = evaluate(
      {{.sizes = {2, 1, 1, 1}, .data = {ln3, -ln3}}, {.sizes = {2, 1, 1, 1}, .data = {4, 8}}},
      [](GraphBuilder& g, const Values& x) { return swiglu(g, x[0], x[1]); });
  EXPECT_THAT(y.data, is_near({3 * ln3, -2 * ln3}));
}

TEST(Swiglu, FindsGateAndUpInTheHalvesOfARow) {
  const double ln3 = std::log(3);
  const Leaf rows = {.sizes = {4, 2, 1, 1}, .data = {ln3, -ln3, 4, 8, 0, ln3, 5, 6}};
  const auto y =
      evaluate({rows}, [](GraphBuilder& g, const Values& x) { return swiglu_fused(g, x[0]); });
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(y.data, is_near({3 * ln3, -2 * ln3, 0, 0.75 * ln3 * 6}));
  const Leaf swapped = {.sizes = {4, 1, 1, 1}, .data = {4, 8, ln3, -ln3}};
  const auto same = evaluate({swapped}, [](GraphBuilder& g, const Values& x) {
    return swiglu_fused(g, x[0], {GateHalf::kSecond});
  });
  EXPECT_THAT(same.data, is_near({3 * ln3, -2 * ln3}));
}

TEST(SwigluOai, ClampsAndAddsOneToUp) {
  // The sigmoid of ln 3 is 3/4; that of 2 ln 3 is 9/10.
  const double ln3 = std::log(3);
  const std::vector<Leaf> leaves = {{.sizes = {3, 1, 1, 1}, .data = {ln3, 50, -ln3}},
                                    {.sizes = {3, 1, 1, 1}, .data = {0.5, -9, 9}}};
  const auto limit = static_cast<float>(2 * ln3);
  const auto y = evaluate(leaves, [&](GraphBuilder& g, const Values& x) {
    return swiglu_oai(g, x[0], x[1], {.alpha = 1, .limit = limit});
  });
  EXPECT_THAT(y.data, is_near({0.75 * ln3 * 1.5, 0.9 * 2 * ln3 * (1 - 2 * ln3),
                               -0.25 * ln3 * (1 + 2 * ln3)}));
}

TEST(Gated, UnitsMatchKnownValuesOfTheirFunctions) {
  struct Known {
    Result<Value> (*split)(GraphBuilder&, Operand, Operand);
    Result<Value> (*fused)(GraphBuilder&, Operand, GatedParams);
    std::vector<double> y;
  };
  // Of gates 1 and -1, up 2 and 3. The normal distribution function of 1 is 0.8413447461 (tables);
  // 0.841192 is its approximation by tanh (Hendrycks and Gimpel), 1 / (1 + exp(-1.702)) = 0.845796.
  const Known known[] = {
      {reglu, reglu_fused, {2, 0}},
      {geglu, geglu_fused, {2 * 0.841192, -3 * 0.158808}},
      {geglu_erf, geglu_erf_fused, {2 * 0.8413447461, -3 * 0.1586552539}},
      {geglu_quick, geglu_quick_fused, {2 * 0.845796, -3 * 0.154204}},
  };
  const Leaf gate = {.sizes = {2, 1, 1, 1}, .data = {1, -1}};
  const Leaf up = {.sizes = {2, 1, 1, 1}, .data = {2, 3}};
  const Leaf both = {.sizes = {4, 1, 1, 1}, .data = {1, -1, 2, 3}};
  for (const Known& each : known) {
    const auto split = evaluate(
        {gate, up}, [&](GraphBuilder& g, const Values& x) { return each.split(g, x[0], x[1]); });
    EXPECT_THAT(split.data, is_near(each.y, 3e-6));
    const auto fused =
        evaluate({both}, [&](GraphBuilder& g, const Values& x) { return each.fused(g, x[0], {}); });
    EXPECT_THAT(fused.data, is_near(each.y, 3e-6));
  }
}

TEST(L2Norm, ScalesRowsToLengthOne) {
  const Leaf x = {.sizes = {2, 3, 1, 1}, .data = {3, 4, 0, 0, 0, -0.5}};
  const auto y =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return l2_norm(g, v[0], {.eps = 0}); });
  EXPECT_THAT(y.data, is_near({0.6, 0.8, 0, 0, 0, -1}));
  const auto least =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return l2_norm(g, v[0], {.eps = 2}); });
  EXPECT_THAT(least.data, is_near({0.6, 0.8, 0, 0, 0, -0.25}));
}

TEST(RmsNorm, DividesEachRowByItsRootMeanSquare) {
  // (9 + 16) / 2 = 12.5; (1 + 49) / 2 = 25.
  const Leaf x = {.sizes = {2, 2, 1, 1}, .data = {3, 4, 1, 7}};
  const auto y =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return rms_norm(g, v[0], {.eps = 0}); });
  EXPECT_THAT(y.data, is_near({3 / std::sqrt(12.5), 4 / std::sqrt(12.5), 0.2, 1.4}));
}

TEST(RmsNorm, AddsEpsToTheMeanSquare) {
  const Leaf x = {.sizes = {2, 2, 1, 1}, .data = {1, 1, 0, 0}};
  const auto y =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return rms_norm(g, v[0], {.eps = 3}); });
  EXPECT_THAT(y.data, is_near({0.5, 0.5, 0, 0}));
}

TEST(Norm, GivesEachRowMeanZeroAndVarianceOne) {
  // Mean 5, variance (16 + 0 + 16) / 3; all the same.
  const Leaf x = {.sizes = {3, 2, 1, 1}, .data = {1, 5, 9, 7, 7, 7}};
  const auto y =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return norm(g, v[0], {.eps = 0}); });
  const double unit = std::sqrt(1.5);
  EXPECT_THAT(y.data, is_near({-unit, 0, unit, 0, 0, 0}));
}

TEST(GroupNorm, TakesNeighbouringChannelsTogether) {
  // Channels {1, 3} and {5, 7}: mean 4, variance 5; {2, 2} and {4, 4}: mean 3, variance 1.
  const Leaf x = {.sizes = {2, 1, 4, 1}, .data = {1, 3, 5, 7, 2, 2, 4, 4}};
  const auto y = evaluate({x}, [](GraphBuilder& g, const Values& v) {
    return group_norm(g, v[0], {.groups = 2, .eps = 0});
  });
  const double unit = 1 / std::sqrt(5);
  EXPECT_THAT(y.data, is_near({-3 * unit, -unit, unit, 3 * unit, -1, -1, 1, 1}));
}

}  // namespace
}  // namespace shunt::ops_elementwise_test
