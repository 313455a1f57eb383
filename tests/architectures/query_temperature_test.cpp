// The temperature of queries is computed once a step, not in each layer that has it.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/op.h"
#include "model/definition.h"
#include "support/must.h"
#include "support/recorded_model.h"

namespace shunt::test::architecture_query_temperature_test {
namespace {

class QueryTemperatures : public ::testing::TestWithParam<std::string> {
 protected:
  static std::int64_t count(const Graph& graph, std::string_view op) {
    std::int64_t found = 0;
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      found += node.op != nullptr && node.op->info().name == op ? 1 : 0;
    }
    return found;
  }
};

TEST_P(QueryTemperatures, AreComputedOnceAStep) {
  const auto bytes = recorded_zeros(GetParam(), [](EditedFile&) {});
  const auto file = must(gguf::File::parse(bytes, "recorded"));
  const StepGraph step = must(must(read_model(file))->build({.tokens = 4}));
  ASSERT_GT(count(step.graph, "paged_attention"), 1);
  EXPECT_EQ(count(step.graph, "floor"), 1);
  EXPECT_EQ(count(step.graph, "log"), 1);
}

INSTANTIATE_TEST_SUITE_P(Models, QueryTemperatures,
                         ::testing::Values("mistral3", "mistral3-tied-mqa"), recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_query_temperature_test
