// Grids of at most 8 waves: on a card with one multiprocessor blocks walk over many items, and the
// results are the same.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"
#include "base/to_size.h"
#include "shunt/ops.h"
#include "support/networks.h"

namespace shunt::test::cuda_grids_test {
namespace {

using testing::IsEmpty;

class CudaGrids : public CudaDevices {
 protected:
  void reopen(const char* multiprocessors) {
    registry_.reset();
    twin_.set("CUDA_TWIN_PROFILE", "p40");
    twin_.set("CUDA_TWIN_MULTIPROCESSORS", multiprocessors);
    twin_.restart();
    open();
  }
  struct Outcome {
    std::vector<double> values;
    std::uint64_t blocks = 0;
    std::uint64_t launches = 0;
  };
  Outcome run(const std::shared_ptr<const Graph>& graph,
              const std::map<NodeId, RefTensor>& leaves) const {
    Outcome outcome;
    auto run = GraphRun::create(graph, *devices(), leaves, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    if (!run) return outcome;
    const KernelCounts before = twin_.all_counts();
    const Status status = (*run)->plan().run();
    EXPECT_TRUE(status) << status.error().message();
    const KernelCounts after = twin_.all_counts();
    for (const NodeId output : graph->outputs()) {
      const auto values = (*run)->output(output);
      EXPECT_TRUE(values);
      if (values) {
        outcome.values.insert(outcome.values.end(), values->data.begin(), values->data.end());
      }
    }
    outcome.blocks = after.blocks - before.blocks;
    outcome.launches = after.launches - before.launches;
    return outcome;
  }
  /// On a card with many multiprocessors, and on one with one.
  void expect_same(const std::shared_ptr<const Graph>& graph,
                   const std::map<NodeId, RefTensor>& leaves) {
    reopen("0");
    const Outcome many = run(graph, leaves);
    reopen("1");
    const Outcome one = run(graph, leaves);
    EXPECT_EQ(one.values, many.values);
    EXPECT_EQ(one.launches, many.launches);
    EXPECT_LT(one.blocks, many.blocks) << "blocks have several items each";
    EXPECT_LE(one.blocks, one.launches * 8 * 32) << "8 waves of at most 32 blocks";
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
};

/// Operations whose items are elements, and those whose items are rows.
TEST_F(CudaGrids, BlocksWalkOverElementsAndRows) {
  constexpr std::int64_t kLength = 40, kRows = 700;
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kLength, kRows}));
  const auto y = g.input("y", *make_tensor(DType::kF32, {kLength, kRows}));
  const auto ids = g.input("ids", *make_tensor(DType::kI32, {kRows}));
  int number = 0;
  const auto output = [&](const Result<Value>& value) {
    ASSERT_TRUE(value) << value.error().message();
    ASSERT_TRUE(g.output(value, "y" + std::to_string(++number)));
  };
  output(add(g, x, y));
  output(gelu(g, x));
  output(rms_norm(g, x, {}));
  output(softmax(g, x));
  output(argsort(g, x, {}));
  output(get_rows(g, x, ids));
  output(cont(g, transpose(g, x)));
  output(sum_rows(g, x));
  output(swiglu(g, x, y));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  std::map<NodeId, RefTensor> leaves;
  leaves[x->id] = make_values({.sizes = {kLength, kRows, 1, 1}}, 1);
  leaves[y->id] = make_values({.sizes = {kLength, kRows, 1, 1}}, 2);
  RefTensor order(Sizes{kRows, 1, 1, 1});
  for (std::int64_t i = 0; i < kRows; ++i)
    order.data[to_size(i)] = static_cast<double>(i * 37 % kRows);
  leaves[ids->id] = order;
  expect_same(graph, leaves);
}

TEST_F(CudaGrids, BlocksWalkOverTilesOfProducts) {
  for (const DType type : {DType::kF32, DType::kQ8_0, DType::kQ4_K}) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(type, {256, 1200}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {256, 40}));
    const auto few = g.input("few", *make_tensor(DType::kF32, {256, 1}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    ASSERT_TRUE(g.output(matmul(g, w, few), "z"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
    expect_same(graph, {{w->id, kept_values(type, {256, 1200, 1, 1}, 1)},
                        {x->id, make_values({.sizes = {256, 40, 1, 1}}, 2)},
                        {few->id, make_values({.sizes = {256, 1, 1, 1}}, 3)}});
  }
}

TEST_F(CudaGrids, WholeNetworksGiveTheSameBits) {
  for (Network (*make)() : {bert, gemma}) {
    const Network network = make();
    reopen("0");
    const Outcome many = run(network.graph, network.leaves);
    reopen("1");
    EXPECT_EQ(run(network.graph, network.leaves).values, many.values);
    EXPECT_THAT(twin_.findings(), IsEmpty());
  }
}

}  // namespace
}  // namespace shunt::test::cuda_grids_test
