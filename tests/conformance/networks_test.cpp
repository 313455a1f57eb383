// Networks of many ops, on the CPU: that they compute the same as the reference, and that their
// memory is laid out almost as tightly as it can be.
#include <gtest/gtest.h>

#include "graph/reference.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "support/tensor_io.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test::networks_test {
namespace {

constexpr TransformerShape kSmall = {.layers = 2,
                                     .width = 64,
                                     .feed_forward = 96,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .vocabulary = 50,
                                     .tokens = 7,
                                     .context = 12,
                                     .weights = DType::kF32};

/// Values that keep the results of deep networks in range; indices for integers.
RefTensor leaf_values(const Graph& graph, NodeId id) {
  const Tensor& tensor = graph.node(id).result;
  CaseSource source{.dtype = tensor.dtype, .sizes = max_sizes(tensor.shape)};
  if (trait(tensor.dtype).integer) {
    source.fill = Fill::kPermutation;
    source.high = static_cast<double>(std::max<std::int64_t>(source.sizes[0], 10));
  } else {
    source.fill = Fill::kUniform;
    source.low = -0.2;
    source.high = 0.3;
  }
  return make_values(source, id);
}

class Networks : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
    cpu_ = *cpu;
  }

  void expect_reference(Result<Graph> built) {
    ASSERT_TRUE(built) << built.error().message();
    const auto graph = std::make_shared<const Graph>(std::move(*built));
    std::map<NodeId, RefTensor> leaves;
    std::vector<RefTensor> by_node(graph->size());
    for (NodeId id = 0; id < graph->size(); ++id) {
      if (graph->node(id).is_leaf()) leaves[id] = by_node[id] = leaf_values(*graph, id);
    }
    Device* const devices[] = {cpu_};
    auto run = GraphRun::create(graph, devices, leaves);
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    const auto reference = reference_run(*graph, by_node);
    ASSERT_TRUE(reference);
    const NodeId output = graph->outputs()[0];
    // Caches are F16, which the reference does not round. The error there is 4e-8. Its effect
    // depends on the leaves' values, whose order is the compiler's choice.
    EXPECT_LT(nmse(*(*run)->output(output), (*reference)[output]), 2e-7);
  }

  void expect_tight(Result<Graph> graph) {
    ASSERT_TRUE(graph) << graph.error().message();
    const auto requests = requests_of(*graph, *cpu_);
    ASSERT_TRUE(requests) << requests.error().message();
    EXPECT_GT(requests->size(), 50U);
    const std::size_t alignment = cpu_->memory().alignment();
    const auto layout = plan_memory(*requests, alignment, cpu_->memory().max_size());
    ASSERT_TRUE(layout);
    const auto bound = static_cast<double>(memory_lower_bound(*requests, alignment));
    EXPECT_LE(static_cast<double>(layout->total()), 1.03 * bound);
  }

  std::unique_ptr<Registry> registry_;
  Device* cpu_ = nullptr;
};

TEST_F(Networks, TransformerMatchesTheReference) {
  expect_reference(transformer_step(kSmall));
}

TEST_F(Networks, MixtureOfExpertsMatchesTheReference) {
  for (const auto& [experts, used, tokens] :
       {std::tuple{4, 2, 7}, std::tuple{3, 3, 12}, std::tuple{8, 1, 1}}) {
    TransformerShape shape = kSmall;
    shape.experts = experts;
    shape.used = used;
    shape.tokens = tokens;
    expect_reference(transformer_step(shape));
  }
}

TEST_F(Networks, ConvolutionNetworkMatchesTheReference) {
  expect_reference(residual_network({.image = 33,
                                     .images = 2,
                                     .channels = 4,
                                     .blocks = {2, 1},
                                     .classes = 5,
                                     .weights = DType::kF16}));
}

TEST_F(Networks, MemoryStaysWithin3PercentOfTheLowerBound) {
  for (const std::int64_t tokens : {1, 32, 512}) {
    TransformerShape llama;
    llama.tokens = tokens;
    expect_tight(transformer_step(llama));
    TransformerShape experts = kMixtureOfExperts;
    experts.tokens = tokens;
    expect_tight(transformer_step(experts));
  }
  expect_tight(residual_network());
  expect_tight(residual_network({.images = 8}));
}

}  // namespace
}  // namespace shunt::test::networks_test
