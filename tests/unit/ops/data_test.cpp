// rows, data, view, order and reduce by hand.
#include "unit/ops/values.h"

namespace shunt::ops_data_test {
namespace {

using testing::ElementsAre;

const Leaf kRows = {.sizes = {2, 3, 1, 1}, .data = {1, 2, 3, 4, 5, 6}};

Leaf ids(DType type, const std::vector<double>& numbers) {
  return {type, {static_cast<std::int64_t>(numbers.size()), 1, 1, 1}, numbers};
}

TEST(GetRows, GathersRowsInTheOrderOfTheIds) {
  for (DType type : {DType::kI32, DType::kI64}) {
    const auto y = evaluate({kRows, ids(type, {2, 0, 2})}, [](GraphBuilder& g, const Values& v) {
      return get_rows(g, v[0], v[1]);
    });
    EXPECT_THAT(y.data, ElementsAre(5, 6, 1, 2, 5, 6));
  }
}

TEST(GetRows, GathersFromTheSameSlice) {
  const Leaf table = {.sizes = {1, 3, 2, 1}, .data = {1, 2, 3, 4, 5, 6}};
  const auto y = evaluate({table, {DType::kI32, {2, 2, 1, 1}, {2, 0, 1, 1}}},
                          [](GraphBuilder& g, const Values& v) { return get_rows(g, v[0], v[1]); });
  EXPECT_EQ(y.sizes, (Sizes{1, 2, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(3, 1, 5, 5));
}

TEST(GetRows, OfIntegersGivesIntegers) {
  GraphBuilder g;
  const auto table = g.weight("", *make_tensor(DType::kI32, {2, 3}));
  const auto y = get_rows(g, table, g.input("", *make_tensor(DType::kI32, {1})));
  ASSERT_TRUE(y.has_value());
  EXPECT_EQ(g.tensor(*y).dtype, DType::kI32);
}

TEST(SetRows, WritesOnlyTheRowsOfTheIds) {
  const Leaf rows = {.sizes = {2, 2, 1, 1}, .data = {10, 20, 30, 40}};
  const auto y =
      evaluate({kRows, rows, ids(DType::kI64, {2, 0})},
               [](GraphBuilder& g, const Values& v) { return set_rows(g, v[0], v[1], v[2]); });
  EXPECT_THAT(y.data, ElementsAre(30, 40, 3, 4, 10, 20));
}

TEST(SetRows, NeverWritesOutside) {
  const Leaf rows = {.sizes = {2, 2, 1, 1}, .data = {10, 20, 30, 40}};
  const auto y =
      evaluate({kRows, rows, ids(DType::kI64, {3, -1})},
               [](GraphBuilder& g, const Values& v) { return set_rows(g, v[0], v[1], v[2]); });
  EXPECT_EQ(y.data, kRows.data);
}

TEST(Cpy, WritesIntoItsDestination) {
  const auto all =
      evaluate_all({kRows, {DType::kF16, {2, 3, 1, 1}, {0, 0, 0, 0, 0, 0}}},
                   [](GraphBuilder& g, const Values& v) { return cpy(g, v[0], v[1]); });
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].data, kRows.data);
  EXPECT_EQ(all[2].data, kRows.data);
}

TEST(Cpy, RoundsToIntegers) {
  const auto y = evaluate({{.sizes = {5, 1, 1, 1}, .data = {0.5, 1.5, -1.6, 1e20, NAN}},
                           {DType::kI32, {5, 1, 1, 1}, {0, 0, 0, 0, 0}}},
                          [](GraphBuilder& g, const Values& v) { return cpy(g, v[0], v[1]); });
  EXPECT_THAT(y.data, ElementsAre(0, 2, -2, 2147483647, 0));
}

TEST(Cont, CopiesAViewToContiguousMemory) {
  const auto y = evaluate(
      {kRows}, [](GraphBuilder& g, const Values& v) { return cont(g, transpose(g, v[0])); });
  EXPECT_EQ(y.sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(Reshape, KeepsTheOrder) {
  const auto y = evaluate({kRows}, [](GraphBuilder& g, const Values& v) {
    return reshape(g, v[0], {3, 2});
  });
  EXPECT_EQ(y.sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_EQ(y.data, kRows.data);
}

TEST(View, IsAWindow) {
  const auto y = evaluate({kRows}, [](GraphBuilder& g, const Values& v) {
    return view(g, v[0], {1, 1, 0, 0}, {1, 2});
  });
  EXPECT_THAT(y.data, ElementsAre(4, 6));
}

TEST(View, SharesTheMemoryOfItsSource) {
  GraphBuilder g;
  const auto x = g.cache("", *make_tensor(DType::kQ8_0, {64, 4}));
  const auto y = view(g, view(g, x, {0, 1, 0, 0}, {64, 3}), {32, 1, 0, 0}, {32, 2});
  ASSERT_TRUE(g.output(y, "y").has_value());
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(graph->node(y->id).storage, x->id);
  EXPECT_EQ(graph->node(y->id).offset, 2 * 68 + 34);  // rows of two blocks of 34 bytes
  EXPECT_EQ(graph->node(y->id).result.stride(1), 68);
}

TEST(Permute, AxesNameTheSourceOfEachDimension) {
  const Leaf x = {.sizes = {1, 2, 3, 1}, .data = {1, 2, 3, 4, 5, 6}};
  const auto y = evaluate({x}, [](GraphBuilder& g, const Values& v) {
    return permute(g, v[0], {2, 0, 1, 3});
  });
  EXPECT_EQ(y.sizes, (Sizes{3, 1, 2, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(Transpose, SwapsTheInnerDimensions) {
  const auto y =
      evaluate({kRows}, [](GraphBuilder& g, const Values& v) { return transpose(g, v[0]); });
  EXPECT_EQ(y.sizes, (Sizes{3, 2, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(Argmax, IsTheFirstOfTheLargest) {
  const Leaf x = {.sizes = {3, 4, 1, 1},
                  .data = {1, 9, 2, 7, 7, 1, -3, -2, -1, -kInfinity, -kInfinity, -kInfinity}};
  const auto y = evaluate({x}, [](GraphBuilder& g, const Values& v) { return argmax(g, v[0]); });
  EXPECT_EQ(y.sizes, (Sizes{4, 1, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(1, 0, 2, 0));
}

const Leaf kUnsorted = {.sizes = {5, 1, 1, 1}, .data = {2, NAN, -1, 2, 7}};

TEST(Argsort, IsStableAndPutsNaNLast) {
  const auto sorted = [](SortOrder order) {
    return evaluate({kUnsorted},
                    [=](GraphBuilder& g, const Values& v) { return argsort(g, v[0], {order}); })
        .data;
  };
  EXPECT_THAT(sorted(SortOrder::kAscending), ElementsAre(2, 0, 3, 4, 1));
  EXPECT_THAT(sorted(SortOrder::kDescending), ElementsAre(4, 0, 3, 2, 1));
}

TEST(TopK, IsTheFirstOfTheDescendingOrder) {
  const auto y = evaluate(
      {kUnsorted}, [](GraphBuilder& g, const Values& v) { return top_k(g, v[0], {.k = 2}); });
  EXPECT_EQ(y.sizes, (Sizes{2, 1, 1, 1}));
  EXPECT_THAT(y.data, ElementsAre(4, 0));
}

TEST(Reduce, SumsRowsOrAll) {
  const auto rows =
      evaluate({kRows}, [](GraphBuilder& g, const Values& v) { return sum_rows(g, v[0]); });
  EXPECT_EQ(rows.sizes, (Sizes{1, 3, 1, 1}));
  EXPECT_THAT(rows.data, ElementsAre(3, 7, 11));
  const auto means =
      evaluate({kRows}, [](GraphBuilder& g, const Values& v) { return mean(g, v[0]); });
  EXPECT_THAT(means.data, ElementsAre(1.5, 3.5, 5.5));
  const auto all = evaluate({kRows}, [](GraphBuilder& g, const Values& v) { return sum(g, v[0]); });
  EXPECT_EQ(all.sizes, (Sizes{1, 1, 1, 1}));
  EXPECT_THAT(all.data, ElementsAre(21));
}

}  // namespace
}  // namespace shunt::ops_data_test
