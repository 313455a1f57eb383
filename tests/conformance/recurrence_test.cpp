// Recurrences in a graph whose tokens and sequences are dynamic dimensions, on the CPU. The result
// of a step's actual sizes does not depend on their maximum. States are kept by number, and numbers
// that no state has fail the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::recurrence_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kStates = 4;

/// A gated delta net whose states are kept, by number, in a cache.
struct Kept {
  std::shared_ptr<const Graph> graph;
  std::vector<NodeId> inputs;
  NodeId ids = 0;
  NodeId cache = 0;
  NodeId y = 0;
  Dim tokens = 1;
  Dim sequences = 1;
};

Kept build(bool dynamic_dims) {
  Kept made;
  GraphBuilder g;
  const auto size = [&](const char* name, std::int64_t max, std::int64_t actual) {
    return dynamic_dims ? *g.dynamic_dim(name, max) : Dim(actual);
  };
  made.tokens = size("tokens", 7, 3);
  made.sequences = size("sequences", 5, 2);
  const auto input = [&](DType type, const Shape& shape) {
    const auto value = g.input("", *make_tensor(type, shape));
    made.inputs.push_back(value->id);
    return value;
  };
  const auto heads = [&](std::int64_t n) {
    return input(DType::kF32, {n, 2, made.tokens, made.sequences});
  };
  const auto q = heads(16);
  const auto k = heads(16);
  const auto v = heads(16);
  const auto gate = heads(1);
  const auto beta = heads(1);
  const auto ids = input(DType::kI32, {made.sequences});
  made.ids = ids->id;
  const auto cache = g.cache("states", *make_tensor(DType::kF32, {16, 16, 2, kStates}));
  made.cache = cache->id;
  const auto step = gated_delta_net(g, q, k, v, gate, beta, cache, ids, {.scale = 0.25F});
  EXPECT_TRUE(step) << step.error().message();
  const Result<Value> outputs = scale(g, step->outputs, {.scale = 1});
  EXPECT_TRUE(g.output(outputs, "y"));
  made.y = outputs->id;
  const Result<Value> states = step->states;
  const auto kept = set_rows(g, reshape(g, cache, {512, kStates}),
                             reshape(g, states, {512, made.sequences}), ids);
  EXPECT_TRUE(kept) << kept.error().message();
  made.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return made;
}

std::map<NodeId, RefTensor> values_for(const Kept& kept, std::vector<double> ids) {
  std::map<NodeId, RefTensor> leaves;
  for (NodeId id : kept.inputs) {
    Sizes sizes = max_sizes(kept.graph->node(id).result.shape);
    if (sizes[2] > 1) sizes[2] = 3;
    if (sizes[3] > 1) sizes[3] = 2;
    leaves[id] =
        make_values({.sizes = sizes, .fill = Fill::kUniform, .low = -0.3, .high = 0.3}, id);
  }
  leaves[kept.ids] = RefTensor({2, 1, 1, 1});
  leaves[kept.ids].data = std::move(ids);
  leaves[kept.cache] = make_values({.sizes = {16, 16, 2, kStates}}, 99);
  return leaves;
}

class RecurrenceOnTheCpu : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    devices_ = *registry_->select({});
    if (devices_.empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  }
  std::unique_ptr<GraphRun> start(const Kept& kept, bool dynamic_dims,
                                  const std::vector<double>& ids) {
    auto leaves = values_for(kept, ids);
    auto run = GraphRun::create(kept.graph, devices_, {{kept.cache, leaves[kept.cache]}});
    EXPECT_TRUE(run) << run.error().message();
    if (dynamic_dims) {
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(kept.tokens, 3));
      EXPECT_TRUE((*run)->plan().set_dynamic_dim(kept.sequences, 2));
    }
    leaves.erase(kept.cache);
    const Status set = (*run)->set_inputs(leaves);
    EXPECT_TRUE(set) << set.error().message();
    return std::move(*run);
  }

  std::unique_ptr<Registry> registry_;
  std::vector<Device*> devices_;
};

TEST_F(RecurrenceOnTheCpu, TakesTheActualSizesOfDynamicDims) {
  const Kept fixed = build(false);
  const Kept kept = build(true);
  const auto expected = start(fixed, false, {3, 1});
  const auto run = start(kept, true, {3, 1});
  for (int step = 0; step < 3; ++step) {
    ASSERT_TRUE(expected->plan().run());
    ASSERT_TRUE(run->plan().run());
    DynamicDimValues actual = kept.graph->max_dynamic_dims();
    actual[kept.tokens.dynamic_dim] = 3;
    actual[kept.sequences.dynamic_dim] = 2;
    EXPECT_EQ(run->output(kept.y, actual)->data, expected->output(fixed.y)->data);
  }
  const RefTensor states = *run->leaf(kept.cache);
  EXPECT_EQ(states.data, expected->leaf(fixed.cache)->data);
  // States 0 and 2 had no sequence.
  const RefTensor before = values_for(kept, {3, 1})[kept.cache];
  for (const std::size_t id : {0U, 2U}) {
    for (std::size_t i = id * 512; i < (id + 1) * 512; ++i) {
      ASSERT_EQ(states.data[i], before.data[i]);
    }
  }
  EXPECT_NE(states.data[512], before.data[512]);
}

TEST_F(RecurrenceOnTheCpu, FailsForAStateIdOutOfRange) {
  const Kept kept = build(false);
  for (const double wrong : {-1.0, 4.0, 1e9, -2147483648.0}) {
    const auto run = start(kept, false, {1, wrong});
    const Status status = run->plan().run();
    ASSERT_FALSE(status) << wrong;
    EXPECT_EQ(status.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message(), HasSubstr("gated_delta_net"));
    EXPECT_EQ(run->leaf(kept.cache)->data, values_for(kept, {})[kept.cache].data);
  }
}

}  // namespace
}  // namespace shunt::test::recurrence_test
