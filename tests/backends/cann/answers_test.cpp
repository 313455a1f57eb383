// The library's answers about operators, which the device keeps, and results that nodes share.
#include <gmock/gmock.h>

#include <cmath>

#include "backends/cann/cann_devices.h"

namespace shunt::test::cann_answers_test {
namespace {

using testing::HasSubstr;

class CannAnswers : public CannDevices {
 protected:
  /// The device's answer to a function of 64 numbers.
  template <class F>
  Support answer(const F& function) {
    GraphBuilder g;
    const auto x = g.input("x", *make_tensor(DType::kF32, {64}));
    const auto y = function(g, *x);
    EXPECT_TRUE(y) << y.error().message();
    EXPECT_TRUE(g.output(y, "y"));
    const Graph graph = std::move(*std::move(g).build());
    return device().supports(graph, y->id);
  }
  Support cosine() {
    return answer([](GraphBuilder& g, const Value& x) { return cos(g, x); });
  }
  Support logarithm() {
    return answer([](GraphBuilder& g, const Value& x) { return log(g, x); });
  }
};

/// By the vendor's documentation a 310P has aclnnCos, and no aclnnLog.
TEST_F(CannAnswers, AreThoseOfTheOperatorThatIsAsked) {
  for (const bool cosine_first : {true, false}) {
    reopen({{"PROFILE", "310p"}, {"SUPPORT", "docs"}});
    if (cosine_first) {
      EXPECT_TRUE(cosine());
    }
    EXPECT_THAT(logarithm().facts(), HasSubstr("aclnnLog"));
    EXPECT_TRUE(cosine()) << cosine().facts();
  }
}

/// Indices in a cache that the segment writes between two nodes that read it.
TEST_F(CannAnswers, IndicesAreReadAgainAfterAWrite) {
  GraphBuilder g;
  const auto table = g.weight("table", *make_tensor(DType::kF32, {64, 4}));
  const auto ids = g.cache("ids", *make_tensor(DType::kI32, {2}));
  const auto next = g.input("next", *make_tensor(DType::kI32, {2}));
  const auto before = get_rows(g, table, ids);
  ASSERT_TRUE(g.output(before, "before"));
  const auto written = cpy(g, next, ids);
  ASSERT_TRUE(written) << written.error().message();
  const auto after = get_rows(g, table, ids);
  ASSERT_TRUE(g.output(after, "after"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  leaves[table->id] = make_values({.sizes = {64, 4, 1, 1}}, 1);
  leaves[ids->id] = RefTensor(Sizes{2, 1, 1, 1});
  leaves[ids->id].data = {0, 1};
  leaves[next->id] = RefTensor(Sizes{2, 1, 1, 1});
  leaves[next->id].data = {3, 2};
  const auto run = make_run(graph, leaves);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(error_of(run->plan().run()), "");
  const auto expect_rows = [&](NodeId node, std::int64_t first, std::int64_t second) {
    const auto got = run->output(node);
    ASSERT_TRUE(got) << got.error().message();
    for (std::int64_t i = 0; i < 64; ++i) {
      EXPECT_EQ(got->at(i, 0), leaves[table->id].at(i, first));
      EXPECT_EQ(got->at(i, 1), leaves[table->id].at(i, second));
    }
  };
  expect_rows(before->id, 0, 1);
  expect_rows(after->id, 3, 2);
}

/// Positions in a cache that the segment writes between two ropes of the same numbers.
TEST_F(CannAnswers, PositionsAreReadAgainAfterAWrite) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {16, 2, 3}));
  const auto positions = g.cache("positions", *make_tensor(DType::kI32, {3}));
  const auto next = g.input("next", *make_tensor(DType::kI32, {3}));
  const RopeParams params = {.dims = 16};
  const auto before = rope(g, x, positions, absent(), params);
  ASSERT_TRUE(before) << before.error().message();
  ASSERT_TRUE(g.output(before, "before"));
  ASSERT_TRUE(cpy(g, next, positions));
  const auto after = rope(g, x, positions, absent(), params);
  ASSERT_TRUE(g.output(after, "after"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  leaves[x->id] = make_values({.sizes = {16, 2, 3, 1}}, 1);
  leaves[positions->id] = leaves[next->id] = RefTensor(Sizes{3, 1, 1, 1});
  leaves[positions->id].data = {0, 1, 2};
  leaves[next->id].data = {7, 0, 30};
  const auto run = make_run(graph, leaves);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(error_of(run->plan().run()), "");
  const auto expect_turned = [&](NodeId node, NodeId at) {
    const auto got = run->output(node);
    ASSERT_TRUE(got) << got.error().message();
    for (std::int64_t token = 0; token < 3; ++token) {
      // A first pair turns by its position.
      const double angle = leaves[at].data[static_cast<std::size_t>(token)];
      const double a = leaves[x->id].at(0, 0, token), b = leaves[x->id].at(1, 0, token);
      EXPECT_NEAR(got->at(0, 0, token), a * std::cos(angle) - b * std::sin(angle), 1e-5);
      EXPECT_NEAR(got->at(1, 0, token), a * std::sin(angle) + b * std::cos(angle), 1e-5);
    }
  };
  expect_turned(before->id, positions->id);
  expect_turned(after->id, next->id);
}

}  // namespace
}  // namespace shunt::test::cann_answers_test
