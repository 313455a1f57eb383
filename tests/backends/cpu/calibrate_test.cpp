// Memory of the CPU while its speed is measured.
#include <gtest/gtest.h>

#include "schedule/costs/measure.h"
#include "schedule/costs/timer.h"
#include "shunt/ops.h"
#include "shunt/registry.h"

namespace shunt::test::cpu_calibrate_test {
namespace {

/// The form of weights that the CPU prefers depends on their type and on the machine.
TEST(CpuCalibrate, ReusesMemoryForEveryWeightLayout) {
  Options options;
  options.threads = 2;
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry) << registry.error().message();
  Device& cpu = **(*registry)->find("cpu0");
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kQ4_0, DType::kQ6_K}) {
    GraphBuilder g;
    const auto w = g.weight("w", *make_tensor(dtype, {1024, 1000}));
    const auto x = g.input("x", *make_tensor(DType::kF32, {1024, 3}));
    ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
    const Graph graph = std::move(*std::move(g).build());
    SpareMemory spare;
    const auto seconds = time_graph(cpu, graph, {.runs = 1}, spare);
    ASSERT_TRUE(seconds) << seconds.error().message();
    const auto kept = spare.take(cpu.memory(), 0);
    ASSERT_TRUE(kept) << kept.error().message();
    EXPECT_GE((*kept)->size(), cpu.memory().size_of(graph.node(w->id).result)) << trait(dtype).name;
  }
}

}  // namespace
}  // namespace shunt::test::cpu_calibrate_test
