// The bytes that attention writes, by the counts of the twin: its result, and no scores.
#include <gtest/gtest.h>

#include "backends/cuda/cuda_devices.h"

namespace shunt::test::cuda_attention_counts_test {
namespace {

using CudaAttentionCounts = CudaDevices;

TEST_F(CudaAttentionCounts, AttentionWritesItsResultOnly) {
  constexpr std::int64_t kSize = 64, kTokens = 20, kKeys = 300, kHeads = 4;
  GraphBuilder g;
  std::map<NodeId, RefTensor> leaves;
  const auto input = [&](const char* name, std::int64_t rows) {
    const auto value = g.input(name, *make_tensor(DType::kF32, {kSize, kHeads, rows}));
    leaves[value->id] = make_values({.sizes = {kSize, kHeads, rows, 1}}, value->id);
    return value;
  };
  const auto q = input("q", kTokens), k = input("k", kKeys), v = input("v", kKeys);
  ASSERT_TRUE(g.output(attention(g, q, k, v), "y"));
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  auto run = GraphRun::create(graph, *devices(), leaves, {.by_ability = true});
  ASSERT_TRUE(run) << run.error().message();
  const auto written = [&] {
    return twin_.all_counts().bytes_written - twin_.counts("begin_run").bytes_written;
  };
  const auto before = written();
  ASSERT_TRUE((*run)->plan().run());
  EXPECT_EQ(written() - before, 4U * kSize * kTokens * kHeads);
}

}  // namespace
}  // namespace shunt::test::cuda_attention_counts_test
