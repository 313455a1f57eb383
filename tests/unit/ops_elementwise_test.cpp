// elementwise, activation and norm by hand.
#include <cmath>

#include "unit/ops_values.h"

namespace shunt {
namespace {

using testing::ElementsAre;

const Leaf kFour = {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}};

RefTensor add_leaves(const Leaf& a, const Leaf& b) {
  return evaluate({a, b}, [](GraphBuilder& g, const Values& x) { return add(g, x[0], x[1]); });
}

TEST(Add, RepeatsTheSecondOperandAlongWhatItDivides) {
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

TEST(Silu, WeighsByTheSigmoid) {
  // The sigmoid of ln 3 is 3/4, that of its negative 1/4.
  const double ln3 = std::log(3);
  const auto y = evaluate({{.sizes = {4, 1, 1, 1}, .data = {0, ln3, -ln3, -1000}}},
                          [](GraphBuilder& g, const Values& x) { return silu(g, x[0]); });
  EXPECT_THAT(y.data, is_near({0, 0.75 * ln3, -0.25 * ln3, 0}));
}

TEST(Swiglu, GatesTheOtherOperand) {
  const double ln3 = std::log(3);
  const auto y = evaluate(
      {{.sizes = {2, 1, 1, 1}, .data = {ln3, -ln3}}, {.sizes = {2, 1, 1, 1}, .data = {4, 8}}},
      [](GraphBuilder& g, const Values& x) { return swiglu(g, x[0], x[1]); });
  EXPECT_THAT(y.data, is_near({3 * ln3, -2 * ln3}));
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
}  // namespace shunt
