// The graph of a mixture of experts has as many nodes for few used experts as for many.
#include <gtest/gtest.h>

#include "model/definition.h"
#include "support/must.h"
#include "support/recorded_model.h"

namespace shunt::test::architecture_experts_graph_test {
namespace {

class ExpertsGraph : public ::testing::TestWithParam<std::string> {
 protected:
  static std::size_t nodes_with(std::uint64_t used) {
    const std::string key = read_recorded(GetParam()).architecture + ".expert_used_count";
    const auto bytes = recorded_zeros(GetParam(), [&](EditedFile& file) {
      file.set(key, {gguf::ValueType::kU32, used});
    });
    const auto file = must(gguf::File::parse(bytes, "edited"));
    return static_cast<std::size_t>(
        must(must(read_model(file))->build({.tokens = 4})).graph.size());
  }
};

TEST_P(ExpertsGraph, DoesNotGrowWithTheExpertsUsed) {
  EXPECT_EQ(nodes_with(2), nodes_with(3));
  EXPECT_EQ(nodes_with(2), nodes_with(4));
}

INSTANTIATE_TEST_SUITE_P(Models, ExpertsGraph,
                         ::testing::Values("llama-experts", "qwen3moe-untied", "gpt-oss",
                                           "deepseek2-lite"),
                         recorded_name);

}  // namespace
}  // namespace shunt::test::architecture_experts_graph_test
