// Products of matrices by hand.
#include "unit/ops/values.h"

namespace shunt::ops_matrix_test {
namespace {

using testing::ElementsAre;

RefTensor multiply(const Leaf& w, const Leaf& x) {
  return evaluate({w, x}, [](GraphBuilder& g, const Values& v) { return matmul(g, v[0], v[1]); });
}

TEST(Matmul, MultipliesRowsOfWWithColumnsOfX) {
  const Leaf w = {.sizes = {2, 3, 1, 1}, .data = {1, 2, 3, 4, 5, 6}};
  const auto y = multiply(w, {.sizes = {2, 2, 1, 1}, .data = {10, 1, 0, -1}});
  EXPECT_EQ(y.sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(12, 34, 56, -2, -4, -6));
}

TEST(Matmul, BroadcastsSlicesOfWOverSlicesOfX) {
  const Leaf w = {.sizes = {1, 1, 2, 2}, .data = {1, 2, 3, 4}};
  const Leaf x = {.sizes = {1, 1, 4, 2}, .data = {10, 10, 10, 10, 100, 100, 100, 100}};
  EXPECT_THAT(multiply(w, x).data, ElementsAre(10, 10, 20, 20, 300, 300, 400, 400));
}

TEST(Matmul, BroadcastsSlicesOfXOverSlicesOfW) {
  const Leaf w = {.sizes = {1, 1, 4, 1}, .data = {1, 2, 3, 4}};
  const Leaf x = {.sizes = {1, 1, 2, 2}, .data = {10, 100, 20, 200}};
  const auto y = multiply(w, x);
  EXPECT_EQ(y.sizes, (Sizes{1, 1, 4, 2}));
  EXPECT_THAT(y.data, ElementsAre(10, 20, 300, 400, 20, 40, 600, 800));
}

TEST(Matmul, OfEmptySumsIsZero) {
  const auto y = multiply({.sizes = {0, 2, 1, 1}, .data = {}}, {.sizes = {0, 3, 1, 1}, .data = {}});
  EXPECT_EQ(y.sizes, (Sizes{2, 3, 1, 1}));
  EXPECT_THAT(y.data, testing::Each(0));
}

TEST(Matmul, RejectsOnlyF64AndIntegerWeights) {
  for (const DTypeTrait& type : dtypes()) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type.dtype, {256, 2}));
    const auto y = matmul(g, w, g.input("x", *make_tensor(DType::kF32, {256, 3})));
    const bool stored_only = type.integer || type.dtype == DType::kF64;
    EXPECT_EQ(y.has_value(), !stored_only) << type.name;
    if (!y) {
      EXPECT_THAT(y.error().message(),
                  testing::HasSubstr(fmt::format("w is {} [256, 2]", type.name)));
    }
  }
}

// Two experts: of the first m0 = k0 and m1 = k1, of the second m0 = 10 k0 + k1 and m1 = -k0.
const Leaf kExperts = {.sizes = {2, 2, 2, 1}, .data = {1, 0, 0, 1, 10, 1, -1, 0}};

RefTensor choose(const Leaf& x, const Leaf& ids) {
  return evaluate({kExperts, x, ids},
                  [](GraphBuilder& g, const Values& v) { return matmul_id(g, v[0], v[1], v[2]); });
}

TEST(MatmulId, MultipliesEachTokenByItsSelectedExperts) {
  const Leaf x = {.sizes = {2, 1, 2, 1}, .data = {3, 4, 5, 6}};
  const auto y = choose(x, {.dtype = DType::kI32, .sizes = {2, 2, 1, 1}, .data = {1, 0, 0, 0}});
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(34, -3, 3, 4, 5, 6, 5, 6));
}

TEST(MatmulId, MayHaveAColumnForEachExpertOfAToken) {
  const Leaf x = {.sizes = {2, 2, 1, 1}, .data = {3, 4, 5, 6}};
  const auto y = choose(x, {.dtype = DType::kI32, .sizes = {2, 1, 1, 1}, .data = {1, 1}});
  EXPECT_THAT(y.data, ElementsAre(34, -3, 56, -5));
}

RefTensor solve(const Leaf& a, const Leaf& b, const SolveTriParams& params = {}) {
  return evaluate(
      {a, b}, [&](GraphBuilder& g, const Values& v) { return solve_tri(g, v[0], v[1], params); });
}

TEST(SolveTri, SolvesForTheRightHandSides) {
  // 2 x = 4 and 3 x + 4 y = 26, so x = 2 and y = 5; the part above the diagonal is not read.
  const Leaf a = {.sizes = {2, 2, 1, 1}, .data = {2, kInfinity, 3, 4}};
  // Two right-hand sides, which are side by side.
  const auto x = solve(a, {.sizes = {2, 2, 1, 1}, .data = {4, -2, 26, 1}});
  EXPECT_EQ(x.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(x.data, ElementsAre(2, -1, 5, 1));
}

TEST(SolveTri, SolvesAnUpperTriangleBackwards) {
  // 4 y = 20 and 2 x + 3 y = 19.
  const Leaf a = {.sizes = {2, 2, 1, 1}, .data = {2, 3, kInfinity, 4}};
  EXPECT_THAT(solve(a, {.sizes = {1, 2, 1, 1}, .data = {19, 20}}, {Triangle::kUpper, false}).data,
              ElementsAre(2, 5));
}

TEST(SolveTri, AssumesOnesForAUnitDiagonal) {
  const Leaf a = {.sizes = {2, 2, 1, 1}, .data = {0, kInfinity, 3, 0}};
  EXPECT_THAT(solve(a, {.sizes = {1, 2, 1, 1}, .data = {2, 10}}, {Triangle::kLower, true}).data,
              ElementsAre(2, 4));
}

TEST(SolveTri, BroadcastsMatricesOverSlices) {
  const Leaf a = {.sizes = {1, 1, 2, 1}, .data = {2, 10}};
  EXPECT_THAT(solve(a, {.sizes = {1, 1, 4, 2}, .data = {2, 4, 10, 20, 6, 8, 30, 40}}).data,
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

}  // namespace
}  // namespace shunt::ops_matrix_test
