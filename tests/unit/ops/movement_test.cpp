// Ops that move data or make them, by hand.
#include "graph/op.h"
#include "unit/ops/values.h"

namespace shunt::ops_movement_test {
namespace {

using testing::ElementsAre;

Leaf vector_of(const std::vector<double>& data) {
  return {.sizes = {static_cast<std::int64_t>(data.size()), 1, 1, 1}, .data = data};
}

const Leaf kRows = {.sizes = {2, 3, 1, 1}, .data = {1, 2, 3, 4, 5, 6}};

TEST(Dup, IsNotChangedByLaterWrites) {
  GraphBuilder g;
  const auto x = g.cache("x", *make_tensor(DType::kF32, {2}));
  const auto y = g.cache("y", *make_tensor(DType::kF32, {2}));
  const auto before = dup(g, x);
  ASSERT_TRUE(cpy(g, y, x));
  ASSERT_TRUE(g.output(before, "before"));
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph);
  RefTensor first({2, 1, 1, 1});
  first.data = {1, 2};
  RefTensor second({2, 1, 1, 1});
  second.data = {3, 4};
  const auto all = reference_run(*graph, std::vector{first, second});
  ASSERT_TRUE(all);
  EXPECT_EQ((*all)[before->id].data, first.data);
  EXPECT_EQ((*all)[x->id].data, second.data);
}

TEST(Set, WritesAWindowAndLeavesTheRest) {
  const Leaf x = {.sizes = {1, 2, 1, 1}, .data = {30, 40}};
  const auto y = evaluate({kRows, x}, [](GraphBuilder& g, const Values& v) {
    return set(g, v[0], v[1], {1, 1, 0, 0});
  });
  EXPECT_EQ(y.sizes, kRows.sizes);
  EXPECT_THAT(y.data, ElementsAre(1, 2, 3, 30, 5, 40));
}

TEST(Set, ConvertsToTheTypeOfItsDestination) {
  const Leaf dst = {DType::kI8, {3, 1, 1, 1}, {7, 7, 7}};
  const auto y = evaluate({dst, vector_of({2.5, 1000})}, [](GraphBuilder& g, const Values& v) {
    return set(g, v[0], v[1], {0, 0, 0, 0});
  });
  EXPECT_THAT(y.data, ElementsAre(2, 127, 7));
}

TEST(SetRows, WritesIntoTheSameSlice) {
  const Leaf dst = {.sizes = {1, 2, 2, 1}, .data = {1, 2, 3, 4}};
  const Leaf rows = {.sizes = {1, 1, 2, 1}, .data = {50, 60}};
  const Leaf ids = {DType::kI32, {1, 2, 1, 1}, {1, 0}};
  const auto y = evaluate({dst, rows, ids}, [](GraphBuilder& g, const Values& v) {
    return set_rows(g, v[0], v[1], v[2]);
  });
  EXPECT_THAT(y.data, ElementsAre(1, 50, 60, 4));
}

TEST(SetRows, BroadcastsIdsOverSlices) {
  const Leaf dst = {.sizes = {1, 2, 2, 1}, .data = {1, 2, 3, 4}};
  const Leaf rows = {.sizes = {1, 1, 2, 1}, .data = {50, 60}};
  const Leaf ids = {DType::kI32, {1, 1, 1, 1}, {1}};
  const auto y = evaluate({dst, rows, ids}, [](GraphBuilder& g, const Values& v) {
    return set_rows(g, v[0], v[1], v[2]);
  });
  EXPECT_THAT(y.data, ElementsAre(1, 50, 3, 60));
}

TEST(GetRows, KeepsIntegersAndF64AndConvertsOthersToF32) {
  GraphBuilder g;
  const auto ids = g.input("", *make_tensor(DType::kI32, {1}));
  for (const DTypeTrait& type : dtypes()) {
    const auto table = g.weight("", *make_tensor(type.dtype, {256, 3}));
    const auto y = get_rows(g, table, ids);
    ASSERT_TRUE(y.has_value()) << type.name;
    const bool keeps = type.name.starts_with('I') && !type.name.starts_with("IQ");
    const DType expected = keeps || type.name == "F64" ? type.dtype : DType::kF32;
    EXPECT_EQ(g.tensor(*y).dtype, expected) << type.name;
  }
}

TEST(Repeat, TilesItsSource) {
  const auto y = evaluate({kRows}, [](GraphBuilder& g, const Values& v) {
    return repeat(g, v[0], {4, 3, 2});
  });
  EXPECT_EQ(y.sizes, (Sizes{4, 3, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6,  //
                                  1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6));
}

TEST(Concat, AppendsTheSecondOperand) {
  const Leaf column = {.sizes = {1, 3, 1, 1}, .data = {7, 8, 9}};
  const auto wide = evaluate(
      {kRows, column}, [](GraphBuilder& g, const Values& v) { return concat(g, v[0], v[1], 0); });
  EXPECT_THAT(wide.data, ElementsAre(1, 2, 7, 3, 4, 8, 5, 6, 9));
  const Leaf row = {.sizes = {2, 1, 1, 1}, .data = {7, 8}};
  const auto high = evaluate(
      {kRows, row}, [](GraphBuilder& g, const Values& v) { return concat(g, v[0], v[1], 1); });
  EXPECT_EQ(high.sizes, (Sizes{2, 4, 1, 1}));
  EXPECT_THAT(high.data, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Pad, PadsWithAConstant) {
  const auto y = evaluate({vector_of({1, 2})}, [](GraphBuilder& g, const Values& v) {
    return pad(g, v[0], {.before = {1, 1, 0, 0}, .after = {2, 0, 0, 0}, .value = 9});
  });
  EXPECT_EQ(y.sizes, (Sizes{5, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(9, 9, 9, 9, 9, 9, 1, 2, 9, 9));
}

TEST(Pad, PadsCircularly) {
  const auto y = evaluate({vector_of({1, 2, 3})}, [](GraphBuilder& g, const Values& v) {
    return pad(g, v[0],
               {.before = {4, 0, 0, 0}, .after = {5, 0, 0, 0}, .padding = Padding::kCircular});
  });
  EXPECT_THAT(y.data, ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2));
}

TEST(PadReflect, DoesNotRepeatTheOutermostElement) {
  const auto y = evaluate({vector_of({1, 2, 3})}, [](GraphBuilder& g, const Values& v) {
    return pad_reflect_1d(g, v[0], {2, 1});
  });
  EXPECT_THAT(y.data, ElementsAre(3, 2, 1, 2, 3, 2));
}

TEST(Roll, WrapsAroundAtTheEnds) {
  const auto rolled = [](const Sizes& shift) {
    return evaluate({kRows}, [=](GraphBuilder& g, const Values& v) { return roll(g, v[0], shift); })
        .data;
  };
  EXPECT_THAT(rolled({0, 1, 0, 0}), ElementsAre(5, 6, 1, 2, 3, 4));
  EXPECT_THAT(rolled({0, -1, 0, 0}), ElementsAre(3, 4, 5, 6, 1, 2));
  EXPECT_THAT(rolled({1, 3, 0, 0}), ElementsAre(2, 1, 4, 3, 6, 5));
  // 2^63 - 1 is one more than a multiple of three.
  EXPECT_THAT(rolled({0, INT64_MAX, 0, 0}), ElementsAre(5, 6, 1, 2, 3, 4));
}

TEST(Diag, PutsAVectorOnTheDiagonal) {
  const auto y =
      evaluate({vector_of({1, 2})}, [](GraphBuilder& g, const Values& v) { return diag(g, v[0]); });
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 0, 0, 2));
}

TEST(Tri, KeepsATriangle) {
  const auto kept = [](TriParams params) {
    return evaluate({kRows}, [=](GraphBuilder& g, const Values& v) { return tri(g, v[0], params); })
        .data;
  };
  EXPECT_THAT(kept({Triangle::kLower, true}), ElementsAre(1, 0, 3, 4, 5, 6));
  EXPECT_THAT(kept({Triangle::kLower, false}), ElementsAre(0, 0, 3, 0, 5, 6));
  EXPECT_THAT(kept({Triangle::kUpper, true}), ElementsAre(1, 2, 0, 4, 0, 0));
  EXPECT_THAT(kept({Triangle::kUpper, false}), ElementsAre(0, 2, 0, 0, 0, 0));
}

TEST(DiagMaskInf, MasksColumnsAfterTheDiagonal) {
  const Leaf x = {.sizes = {4, 2, 1, 1}, .data = {1, 2, 3, 4, 5, 6, 7, 8}};
  const auto y =
      evaluate({x}, [](GraphBuilder& g, const Values& v) { return diag_mask_inf(g, v[0], 1); });
  EXPECT_THAT(y.data, ElementsAre(1, 2, -kInfinity, -kInfinity, 5, 6, 7, -kInfinity));
}

TEST(Cumsum, AddsUpEachRow) {
  const auto y =
      evaluate({kRows}, [](GraphBuilder& g, const Values& v) { return cumsum(g, v[0]); });
  EXPECT_THAT(y.data, ElementsAre(1, 3, 3, 7, 5, 11));
}

std::vector<double> numbers(ArangeParams params) {
  return evaluate({}, [=](GraphBuilder& g, const Values&) { return arange(g, params); }).data;
}

TEST(Arange, StopsBeforeTheEnd) {
  EXPECT_THAT(numbers({0, 4, 1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers({1, 2, 0.4}), ElementsAre(1, 1.4, 1.8));
  EXPECT_THAT(numbers({3, -3, -2}), ElementsAre(3, 1, -1));
  EXPECT_EQ(numbers({0, 7, 0.7}).size(), 10U);
}

TEST(Arange, IsEmptyIfTheStepLeadsAwayFromTheEnd) {
  EXPECT_TRUE(numbers({0, 0, 1}).empty());
  EXPECT_TRUE(numbers({0, 4, -1}).empty());
}

TEST(Fill, FillsWithANumberOfAnyPlainType) {
  const auto y = evaluate({}, [](GraphBuilder& g, const Values&) {
    return fill(g, {2, 2}, -kInfinity);
  });
  EXPECT_EQ(y.sizes, (Sizes{2, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(-kInfinity, -kInfinity, -kInfinity, -kInfinity));
  const auto i =
      evaluate({}, [](GraphBuilder& g, const Values&) { return fill(g, {1}, 1e9F, DType::kI16); });
  EXPECT_THAT(i.data, ElementsAre(32767));
}

TEST(TimestepEmbedding, IsCosinesThenSines) {
  const auto y = evaluate({vector_of({0, 2})}, [](GraphBuilder& g, const Values& v) {
    return timestep_embedding(g, v[0], {.dim = 5, .max_period = 100});
  });
  EXPECT_EQ(y.sizes, (Sizes{5, 2, 1, 1}));
  // Frequencies 1 and 100^(-1/2) = 0.1; cosines and sines of 2 and 0.2.
  EXPECT_THAT(y.data, is_near({1, 1, 0, 0, 0,  //
                               -0.41614684, 0.98006658, 0.90929743, 0.19866933, 0}));
}

TEST(Upscale, MatchesPyTorchInterpolate) {
  // torch.nn.functional.interpolate of F64, PyTorch 2.15.
  const Leaf x = {.sizes = {4, 3, 1, 1}, .data = {3, -1, 4, 1, 5, 9, -2, 6, 5, 3, 5, -8}};
  struct Row {
    UpscaleParams params;
    std::vector<double> expected;
  };
  const std::vector<Row> rows = {
      {{5, 2, Interpolation::kNearest, false, false}, {3, 3, -1, 4, 1, 5, 5, 9, -2, 6}},
      {{5, 2, Interpolation::kBilinear, false, false},
       {3.5, 2.1, 2, 2.425, 2.25, 5, 4.65, 3.875, 0.925, -4.5}},
      {{5, 2, Interpolation::kBilinear, false, true},
       {3.75, 3.05, 2.25, 2.0875, 2.875, 5, 5.175, 3.8125, 0.8375, -2.75}},
      {{5, 2, Interpolation::kBilinear, true, false}, {3, 0, 1.5, 3.25, 1, 5, 3.5, 4, 1.75, -8}},
      {{5, 2, Interpolation::kBilinear, true, true},
       {4.14285714, 3.96428571, 3, 1.60714286, 1.82142857, 5, 4.6875, 4.03125, 2.28125, -3.53125}},
      {{5, 2, Interpolation::kBicubic, false, false},
       {3.57320117, 1.92681738, 1.7286377, 2.56003809, 2.63900098, 5.09214453, 4.97743945,
        4.65979004, 0.845212891, -5.12956348}},
      {{5, 2, Interpolation::kBicubic, false, true},
       {3.74137239, 3.08919828, 2.01404494, 2.01457227, 3.38459995, 5.06206013, 5.61014947,
        4.25722311, 0.620103186, -3.12592604}},
      {{5, 2, Interpolation::kBicubic, true, false},
       {3, -0.62109375, 1.40625, 3.84765625, 1, 5, 3.2421875, 5.03125, 2.265625, -8}},
      {{5, 2, Interpolation::kBicubic, true, true},
       {4.12760897, 4.1406572, 2.99897286, 1.41099617, 2.09867334, 5.16531845, 4.87854812,
        4.58636987, 2.65229045, -4.80175437}},
      {{2, 5, Interpolation::kNearest, false, false}, {3, 4, 3, 4, 5, -2, 5, -2, 5, 5}},
      {{2, 5, Interpolation::kBilinear, false, false},
       {1, 2.5, 3.4, 2.3, 7, 2, 5.2, -0.1, 4, -1.5}},
      {{2, 5, Interpolation::kBilinear, false, true},
       {1.42857143, 2, 3.14285714, 2.4, 5.71428571, 3, 4.77142857, 0.685714286, 4.14285714,
        -0.857142857}},
      {{2, 5, Interpolation::kBilinear, true, false}, {3, 1, 4, 3.5, 5, 6, 5, -1, 5, -8}},
      {{2, 5, Interpolation::kBilinear, true, true},
       {1.5, 2, 2.34375, 2.33333333, 4.03125, 3, 4.3125, 1.58333333, 3.1875, -1.91666667}},
      {{2, 5, Interpolation::kBicubic, false, false},
       {-0.18875, 3.16075, 3.745, 2.357, 8.03125, 0.96875, 5.989375, -0.571375, 3.4075, -1.5315}},
      {{2, 5, Interpolation::kBicubic, false, true},
       {1.01239669, 2.01177296, 3.03500062, 2.47129024, 5.95867769, 2.72727273, 5.26048477,
        0.205655606, 4.46101668, -1.4990644}},
      {{2, 5, Interpolation::kBicubic, true, false},
       {3, 1, 4, 4.8125, 5, 6, 5.1875, -0.53125, 5, -8}},
      {{2, 5, Interpolation::kBicubic, true, true},
       {1.39253394, 1.67331933, 2.25547445, 2.32064651, 4.08396947, 3.69520174, 4.41867293,
        1.78898582, 3.21560921, -3.14754953}},
  };
  for (const Row& row : rows) {
    const auto y = evaluate(
        {x}, [&](GraphBuilder& g, const Values& v) { return upscale(g, v[0], row.params); });
    EXPECT_THAT(y.data, is_near(row.expected, 1e-8))
        << upscale_op().describe(Params::of(row.params));
  }
}

TEST(Upscale, NearestIsExactDespiteRounding) {
  // 49 * (1 / 49) is below 1 in F32.
  std::vector<double> data(49, 0.0);
  data[48] = 1;
  const auto y = evaluate({vector_of(data)}, [](GraphBuilder& g, const Values& v) {
    return upscale(g, v[0], {.width = 98, .height = 1});
  });
  std::vector<double> expected(98, 0.0);
  expected[96] = expected[97] = 1;
  EXPECT_EQ(y.data, expected);
}

}  // namespace
}  // namespace shunt::ops_movement_test
