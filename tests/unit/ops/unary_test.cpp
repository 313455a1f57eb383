// Functions of each element by hand.
#include <cmath>
#include <numbers>

#include "unit/ops/values.h"

namespace shunt::ops_unary_test {
namespace {

using std::numbers::ln2;
using std::numbers::pi;

struct Known {
  std::string name;
  Result<Value> (*function)(GraphBuilder&, Operand);
  std::vector<double> x;
  std::vector<double> y;
};

TEST(Unary, MatchesKnownValues) {
  const double ln3 = std::log(3);
  const std::vector<Known> known = {
      {"abs", abs, {-2, 0, 3}, {2, 0, 3}},
      {"ceil", ceil, {1.2, -1.2, 2}, {2, -1, 2}},
      {"cos", cos, {0, pi / 3, pi}, {1, 0.5, -1}},
      {"elu", elu, {-ln2, 0, 2}, {-0.5, 0, 2}},
      {"exp", exp, {0, ln3, -ln2}, {1, 3, 0.5}},
      {"expm1", expm1, {0, ln3, -ln2}, {0, 2, -0.5}},
      {"floor", floor, {1.2, -1.2, 2}, {1, -2, 2}},
      // x times the normal distribution's integral, 0.8413447 at 1; the form with tanh differs in
      // the fourth digit.
      {"gelu_erf", gelu_erf, {0, 1, -1, 30}, {0, 0.8413447, -0.1586553, 30}},
      {"gelu", gelu, {0, 1, -1, 30}, {0, 0.8411920, -0.1588080, 30}},
      {"gelu_quick",
       gelu_quick,
       {0, ln3 / 1.702, -ln3 / 1.702},
       {0, 0.75 * ln3 / 1.702, -0.25 * ln3 / 1.702}},
      {"hardsigmoid", hardsigmoid, {-4, 0, 1.5, 4}, {0, 0.5, 0.75, 1}},
      {"hardswish", hardswish, {-4, 0, 1.5, 4}, {0, 0, 1.125, 4}},
      {"log", log, {1, std::numbers::e, 0.5}, {0, 1, -ln2}},
      {"neg", neg, {1, -2}, {-1, 2}},
      {"relu", relu, {-1, 0, 2}, {0, 0, 2}},
      {"round", round, {0.4, 0.5, 2.5, -2.5, -0.4}, {0, 1, 3, -3, 0}},
      {"sgn", sgn, {-0.1, 0, 7}, {-1, 0, 1}},
      {"sigmoid", sigmoid, {0, ln3, -ln3}, {0.5, 0.75, 0.25}},
      {"silu", silu, {0, ln3, -ln3}, {0, 0.75 * ln3, -0.25 * ln3}},
      {"sin", sin, {0, pi / 6, -pi / 2}, {0, 0.5, -1}},
      {"softplus", softplus, {0, ln3, 1000}, {ln2, 2 * ln2, 1000}},
      {"sqr", sqr, {3, -3}, {9, 9}},
      {"sqrt", sqrt, {0, 2.25}, {0, 1.5}},
      {"step", step, {-1, 0, 0.1}, {0, 0, 1}},
      {"tanh", tanh, {0, ln2, -ln2}, {0, 0.6, -0.6}},
      {"trunc", trunc, {1.7, -1.7}, {1, -1}},
  };
  for (const Known& each : known) {
    const auto size = static_cast<std::int64_t>(each.x.size());
    const auto y =
        evaluate({{.sizes = {size, 1, 1, 1}, .data = each.x}},
                 [&](GraphBuilder& g, const Values& x) { return each.function(g, x[0]); });
    EXPECT_THAT(y.data, is_near(each.y, 1e-7)) << each.name;
  }
}

TEST(LeakyRelu, HasASlopeBelowZero) {
  const auto y = evaluate(
      {{.sizes = {3, 1, 1, 1}, .data = {-2, 0, 3}}},
      [](GraphBuilder& g, const Values& x) { return leaky_relu(g, x[0], {.slope = 0.25F}); });
  EXPECT_THAT(y.data, testing::ElementsAre(-0.5, 0, 3));
}

TEST(Xielu, IsAParabolaAboveZeroAndAnExponentialBelow) {
  // softplus(ln 3) = ln 4; softplus(0) = ln 2.
  const Leaf x = {.sizes = {4, 1, 1, 1}, .data = {2, 0, -ln2, -1e-3}};
  const auto y = evaluate({x}, [](GraphBuilder& g, const Values& v) {
    return xielu(g, v[0], {.alpha_n = std::log(3.0F), .alpha_p = 0, .beta = 0.25F, .eps = -0.5F});
  });
  const double below = 0.25 + 2 * ln2;
  EXPECT_THAT(y.data, is_near({4 * ln2 + 0.5, below * (std::exp(-0.5) - 1),
                               below * (0.5 - 1 + ln2) - 0.25 * ln2,
                               below * (std::exp(-0.5) - 1 + 1e-3) - 0.25e-3}));
}

TEST(Clamp, LimitsToTheBounds) {
  const auto y = evaluate(
      {{.sizes = {3, 1, 1, 1}, .data = {-2, 0.5, 3}}},
      [](GraphBuilder& g, const Values& x) { return clamp(g, x[0], {.low = -1, .high = 2}); });
  EXPECT_THAT(y.data, testing::ElementsAre(-1, 0.5, 2));
}

TEST(Arithmetic, SubtractsAndDividesWithBroadcasting) {
  const Leaf a = {.sizes = {2, 2, 1, 1}, .data = {1, 2, 3, 4}};
  const Leaf b = {.sizes = {2, 1, 1, 1}, .data = {10, 4}};
  const auto difference =
      evaluate({a, b}, [](GraphBuilder& g, const Values& x) { return sub(g, x[0], x[1]); });
  EXPECT_THAT(difference.data, testing::ElementsAre(-9, -2, -7, 0));
  const auto quotient =
      evaluate({a, b}, [](GraphBuilder& g, const Values& x) { return div(g, x[0], x[1]); });
  EXPECT_THAT(quotient.data, is_near({0.1, 0.5, 0.3, 1}));
}

}  // namespace
}  // namespace shunt::ops_unary_test
