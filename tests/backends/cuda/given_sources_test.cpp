// Optional sources that are given and have no elements. As weights they have no memory either.
#include <gmock/gmock.h>

#include "backends/cuda/cuda_devices.h"

namespace shunt::test::cuda_given_sources_test {
namespace {

class CudaGivenSources : public CudaDevices {
 protected:
  void SetUp() override {
    CudaDevices::SetUp();
    if (IsSkipped()) return;
    x_ = weight(DType::kF32, {16, 2, 3});
  }
  Result<Value> weight(DType type, const Shape& shape) {
    return g_.weight("w" + std::to_string(weights_++), *make_tensor(type, shape));
  }
  /// A run for the result, with any values of the weights but those that are given.
  std::unique_ptr<GraphRun> run_for(Operand y, std::map<NodeId, RefTensor> leaves = {}) {
    EXPECT_TRUE(y) << y.error().message();
    EXPECT_TRUE(g_.output(y, "y"));
    const auto graph = std::make_shared<const Graph>(std::move(*std::move(g_).build()));
    for (NodeId id = 0; id < graph->size(); ++id) {
      const Node& node = graph->node(id);
      if (node.op == nullptr && !leaves.contains(id))
        leaves[id] = make_values({.sizes = max_sizes(node.result.shape)}, id);
    }
    auto run = GraphRun::create(graph, *devices(), leaves, {.by_ability = true});
    EXPECT_TRUE(run) << run.error().message();
    return run ? std::move(*run) : nullptr;
  }
  void expect_zeros(Operand y) {
    const auto run = run_for(y);
    ASSERT_TRUE(run);
    const Status status = run->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_THAT(run->output(y->id)->data, testing::Each(0.0));
    EXPECT_THAT(twin_.findings(), testing::IsEmpty());
  }

  GraphBuilder g_;
  int weights_ = 0;
  Result<Value> x_ = absent();
};

TEST_F(CudaGivenSources, WithoutSequencesAConvolutionGivesZeros) {
  const auto x = weight(DType::kF32, {16, 3}), w = weight(DType::kF32, {4, 16});
  const auto states = weight(DType::kF32, {16, 3, 2});
  const auto ids = weight(DType::kI32, {0}), ends = weight(DType::kI32, {0});
  expect_zeros(ssm_conv(g_, x, w, states, ids, ends).value().outputs);
}

TEST_F(CudaGivenSources, WithoutSequencesARecurrenceGivesZeros) {
  const auto states = weight(DType::kF32, {16, 16, 2, 2});
  const auto ids = weight(DType::kI32, {0}), ends = weight(DType::kI32, {0});
  expect_zeros(gated_linear_attn(g_, x_, x_, x_, x_, states, ids, {}, ends).value().outputs);
}

TEST_F(CudaGivenSources, AMaskWithoutColumnsHasNoneForKeys) {
  const auto cache = weight(DType::kF32, {16, 2, 16});
  const auto sequences = weight(DType::kI32, {3, 1}), table = weight(DType::kI32, {1});
  const auto mask = weight(DType::kF32, {0, 3});
  RefTensor of_three(Sizes{3, 1, 1, 1});
  of_three.data = {3, 3, 0};
  const auto run =
      run_for(paged_attention(g_, x_, cache, cache, sequences, table, {.block = 16}, mask),
              {{sequences->id, of_three}, {table->id, RefTensor(Sizes{1, 1, 1, 1})}});
  ASSERT_TRUE(run);
  const Status status = run->plan().run();
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), testing::HasSubstr("3 is not from 0 to 0"));
}

}  // namespace
}  // namespace shunt::test::cuda_given_sources_test
