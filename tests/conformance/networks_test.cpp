// Networks of many ops, on the CPU: that they compute the same as the reference, and that their
// memory is laid out almost as tightly as it can be.
#include <gtest/gtest.h>

#include <tuple>

#include "shunt/registry.h"
#include "support/networks.h"
#include "unit/schedule/step_graphs.h"

namespace shunt::test::networks_test {
namespace {

class Networks : public testing::Test {
 protected:
  void SetUp() override {
    registry_ = std::move(*Registry::create({}));
    const auto cpu = registry_->find("cpu0");
    if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";
    cpu_ = *cpu;
  }

  void expect_reference(const Network& network) {
    Device* const devices[] = {cpu_};
    auto run = GraphRun::create(network.graph, devices, network.leaves);
    ASSERT_TRUE(run) << run.error().message();
    const Status status = (*run)->plan().run();
    ASSERT_TRUE(status) << status.error().message();
    // Caches are F16, which the reference does not round. The error there is 4e-8. Its effect
    // depends on the leaves' values, whose order is the compiler's choice.
    EXPECT_LT(reference_error(**run, network), 2e-7);
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
  expect_reference(small_transformer());
}

TEST_F(Networks, MixtureOfExpertsMatchesTheReference) {
  for (const auto& [experts, used, tokens] :
       {std::tuple{4, 2, 7}, std::tuple{3, 3, 12}, std::tuple{8, 1, 1}}) {
    expect_reference(small_transformer(experts, used, tokens));
  }
}

TEST_F(Networks, ConvolutionNetworkMatchesTheReference) {
  expect_reference(with_values(residual_network({.image = 33,
                                                 .images = 2,
                                                 .channels = 4,
                                                 .blocks = {2, 1},
                                                 .classes = 5,
                                                 .weights = DType::kF16})));
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
