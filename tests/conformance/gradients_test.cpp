// What gradients() builds, on the CPU: that it computes what the reference does.
#include <gtest/gtest.h>

#include <map>

#include "graph/tensor_values.h"
#include "shunt/registry.h"
#include "support/graph_run.h"
#include "unit/gradients_llama.h"

namespace shunt::test {
namespace {

class GradientsOnTheCpu : public testing::TestWithParam<LlamaAttention> {};

TEST_P(GradientsOnTheCpu, AreThoseOfTheReference) {
  const auto registry = Registry::create({});
  const auto cpu = (*registry)->find("cpu0");
  if (!cpu) GTEST_SKIP() << "there is no CPU backend in this build";

  LlamaLoss llama = SmallLlama::build(GetParam());
  const auto found = gradients(llama.g, llama.loss, llama.weights);
  ASSERT_TRUE(found) << found.error().message();
  for (const Value each : *found) ASSERT_TRUE(llama.g.output(each, "gradient"));
  auto graph = std::make_shared<const Graph>(*std::move(llama.g).build());

  std::map<NodeId, RefTensor> leaves;
  for (NodeId id = 0; id < llama.leaves.size(); ++id) {
    if (graph->node(id).is_leaf()) leaves[id] = llama.leaves[id];
  }
  Device* const devices[] = {*cpu};
  auto run = GraphRun::create(graph, devices, leaves);
  ASSERT_TRUE(run) << run.error().message();
  const Status status = (*run)->plan().run();
  ASSERT_TRUE(status) << status.error().message();
  const auto reference = reference_run(*graph, llama.leaves);
  ASSERT_TRUE(reference);
  for (std::size_t i = 0; i < found->size(); ++i) {
    const NodeId id = (*found)[i].id;
    EXPECT_LT(nmse(*(*run)->output(id), (*reference)[id]), 1e-10)
        << graph->describe(llama.weights[i].id);
  }
}

INSTANTIATE_TEST_SUITE_P(OfALlama, GradientsOnTheCpu,
                         testing::Values(LlamaAttention::kOfProducts, LlamaAttention::kOneOp));

}  // namespace
}  // namespace shunt::test
