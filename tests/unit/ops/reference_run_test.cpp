// Whole graphs by reference implementation: nodes after a write see it, nodes before it do not.
#include "unit/ops/values.h"

namespace shunt::ops_reference_run_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Leaf kCache = {.sizes = {2, 3, 1, 1}, .data = {0, 0, 0, 0, 0, 0}};
const Leaf kRow = {.sizes = {2, 1, 1, 1}, .data = {7, 8}};
const Leaf kSecond = {DType::kI32, {1, 1, 1, 1}, {1}};

TEST(ReferenceRun, LaterReadersOfACacheSeeTheWrite) {
  const auto y = evaluate({kCache, kRow, kSecond}, [](GraphBuilder& g, const Values& v) {
    const auto before = scale(g, v[0], {.bias = 1});
    (void)set_rows(g, v[0], v[1], v[2]);
    return add(g, before, v[0]);
  });
  EXPECT_THAT(y.data, ElementsAre(1, 1, 8, 9, 1, 1));
}

TEST(ReferenceRun, ViewsMadeBeforeAWriteSeeTheWrite) {
  const auto y = evaluate({kCache, kRow, kSecond}, [](GraphBuilder& g, const Values& v) {
    const auto columns = transpose(g, v[0]);
    (void)set_rows(g, v[0], v[1], v[2]);
    return cont(g, columns);
  });
  EXPECT_THAT(y.data, ElementsAre(0, 7, 0, 0, 8, 0));
}

TEST(ReferenceRun, WritesThroughAViewLandInTheCache) {
  const auto all = evaluate_all({kCache, kRow}, [](GraphBuilder& g, const Values& v) {
    const auto last = view(g, v[0], {0, 2, 0, 0}, {2, 1});
    return cpy(g, v[1], permute(g, last, {0, 2, 1, 3}));
  });
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0].data, ElementsAre(0, 0, 0, 0, 7, 8));
}

TEST(ReferenceRun, WritesOneAfterTheOther) {
  const auto all = evaluate_all({kCache, kRow, kSecond}, [](GraphBuilder& g, const Values& v) {
    const auto written = set_rows(g, v[0], v[1], v[2]);
    return set_rows(g, written, scale(g, v[1], {.scale = 10}), v[2]);
  });
  ASSERT_FALSE(all.empty());
  EXPECT_THAT(all[0].data, ElementsAre(0, 0, 70, 80, 0, 0));
}

TEST(ReferenceRun, NeedsAValueForEachLeaf) {
  GraphBuilder g;
  ASSERT_TRUE(g.output(silu(g, g.input("x", *make_tensor(DType::kF32, {2, 3}))), "y").has_value());
  const auto graph = std::move(g).build();
  ASSERT_TRUE(graph.has_value());
  const auto none = reference_run(*graph, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(none.error().message(), HasSubstr("x (input): a value of F32 [2, 3] is not given"));
  const std::vector<RefTensor> other = {RefTensor({3, 2, 1, 1})};
  EXPECT_FALSE(reference_run(*graph, other).has_value());
}

}  // namespace
}  // namespace shunt::ops_reference_run_test
