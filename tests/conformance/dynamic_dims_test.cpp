// Ops that move data where a run has fewer elements than there is room for: they do the same as in
// a graph of just that size.
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/ascend_twin.h"
#include "support/cuda_twin.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"

namespace shunt::test::dynamic_dims_test {
namespace {

struct Built {
  std::shared_ptr<const Graph> graph;
  NodeId x = 0;
  NodeId cache = 0;
  NodeId ids = 0;
};

/// Everything that has a dimension of `n` in it.
Built build(GraphBuilder g, const Dim& n) {
  Built built;
  const auto x = g.input("x", *make_tensor(DType::kF32, {3, n}));
  const auto cache = g.cache("cache", *make_tensor(DType::kF16, {5, 9, 2}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {n}));
  built.x = x->id;
  built.cache = cache->id;
  built.ids = ids->id;
  const auto row = reshape(g, view(g, x, {0, 0, 0, 0}, {1, n}), {1, n});
  const std::vector<Result<Value>> results = {
      roll(g, x, {1, 1, 0, 0}),
      roll(g, transpose(g, x), {-1, 1, 0, 0}),
      concat(g, x, x, 1),
      concat(g, transpose(g, x), transpose(g, x), 0),
      concat(g, x, x, 2),
      repeat(g, row, {4, n, 2}),
      pad(g, x, {.before = {2, 0, 1, 0}, .padding = Padding::kCircular}),
      pad_reflect_1d(g, x, {2, 1}),
      fill(g, {n, 2}, 7),
      diag(g, transpose(g, row)),
      tri(g, x),
      diag_mask_inf(g, transpose(g, x), 1),
      cumsum(g, transpose(g, x)),
      timestep_embedding(g, transpose(g, row), {.dim = 6}),
      upscale(g, reshape(g, x, {3, 1, n}), {.width = 5, .height = 2}),
      dup(g, transpose(g, x)),
      set(g, cache, x, {1, 3, 1, 0}),
      set_rows(g, view(g, cache, {0, 0, 0, 0}, {3, 9}), x, ids),
  };
  for (const Result<Value>& result : results) {
    EXPECT_TRUE(result) << result.error().message();
    EXPECT_TRUE(g.output(result, "y"));
  }
  built.graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  return built;
}

/// Of the actual sizes of each run, not the maximum, on the first device.
void expect_actual_sizes(const std::vector<Device*>& devices) {
  constexpr std::int64_t kMost = 5;
  for (const std::int64_t n : {5, 3, 1, 0}) {
    GraphBuilder g;
    const Dim tokens = *g.dynamic_dim("tokens", kMost);
    const Built with_dynamic_dim = build(std::move(g), tokens);
    const Built fixed = build(GraphBuilder(), n);
    ASSERT_EQ(with_dynamic_dim.graph->size(), fixed.graph->size());

    const auto leaves_of = [](const Built& built, std::int64_t count) {
      std::map<NodeId, RefTensor> leaves;
      leaves[built.x] = make_values({.sizes = {3, kMost, 1, 1}}, 1);
      leaves[built.x].sizes[1] = count;
      leaves[built.x].data.resize(static_cast<std::size_t>(3 * count));
      leaves[built.ids] = RefTensor({count, 1, 1, 1});
      for (std::int64_t i = 0; i < count; ++i) {
        leaves[built.ids].at(i) = static_cast<double>((i * 4 + 1) % 9);
      }
      leaves[built.cache] = make_values({.dtype = DType::kF16, .sizes = {5, 9, 2, 1}}, 2);
      return leaves;
    };
    std::vector<RefTensor> by_node(fixed.graph->size());
    for (auto& [id, values] : leaves_of(fixed, n)) by_node[id] = values;
    const auto reference = reference_run(*fixed.graph, by_node);
    ASSERT_TRUE(reference);

    auto run = GraphRun::create(with_dynamic_dim.graph, devices, leaves_of(with_dynamic_dim, kMost),
                                {.by_ability = true});
    ASSERT_TRUE(run) << run.error().message();
    ASSERT_TRUE((*run)->plan().set_dynamic_dim(tokens, n));
    auto inputs = leaves_of(with_dynamic_dim, n);
    inputs.erase(with_dynamic_dim.cache);
    ASSERT_TRUE((*run)->set_inputs(inputs));
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    for (const NodeId id : with_dynamic_dim.graph->outputs()) {
      EXPECT_TRUE(devices.front()->supports(*with_dynamic_dim.graph, id))
          << with_dynamic_dim.graph->describe(id);
      const auto result = (*run)->output(id, (*run)->plan().dynamic_dims());
      ASSERT_TRUE(result);
      // Of F16 where it is written into the cache.
      EXPECT_LT(nmse(*result, (*reference)[id]), 1e-6)
          << with_dynamic_dim.graph->describe(id) << " at " << n;
    }
  }
}

TEST(DynamicDims, UseTheActualSizesOfTheRunNotTheMaximum) {
  auto registry = Registry::create({});
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select({});
  if (!devices || devices->empty()) GTEST_SKIP() << "there is no CPU backend in this build";
  expect_actual_sizes(*devices);
}

TEST(DynamicDims, UseTheActualSizesOfTheRunOnCuda) {
  const CudaTwin twin;
  if (!twin.there()) GTEST_SKIP() << "there is no CUDA twin in this build";
  auto registry = Registry::create(twin.options());
  ASSERT_TRUE(registry);
  const auto devices = (*registry)->select(std::vector<std::string>{"cuda0"});
  if (!devices) GTEST_SKIP() << devices.error().message();
  expect_actual_sizes(*devices);
  EXPECT_TRUE(twin.findings().empty());
}

TEST(DynamicDims, UseTheActualSizesOfTheRunOnCann) {
  AscendTwin twin;
  if (!twin.there()) GTEST_SKIP() << "there is no twin of CANN in this build";
  twin.set("STRICT", "status");
  {
    auto registry = Registry::create(twin.options());
    ASSERT_TRUE(registry);
    const auto devices = (*registry)->select(std::vector<std::string>{"cann0"});
    ASSERT_TRUE(devices) << devices.error().message();
    expect_actual_sizes(*devices);
  }
  EXPECT_EQ(twin.count(AscendCount::kObjections), 0U) << twin.last_objection();
}

}  // namespace
}  // namespace shunt::test::dynamic_dims_test
