// Several streams of the device at once, each with weights of its own (weight_forms_test.cpp: with
// the same): constants and counts are the device's.
#include <thread>

#include "backends/zdnn/support.h"

namespace shunt::test::streams_test {
namespace {

using ZdnnStreams = ZdnnTest;

TEST_F(ZdnnStreams, ConcurrentRunsAreRight) {
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {64, 5}));
  const auto gain = g.weight("gain", *make_tensor(DType::kF32, {64}));
  const auto block = feed_forward(g, mul(g, rms_norm(g, x), gain), 64, 96);
  ASSERT_TRUE(g.output(add(g, norm(g, softmax(g, block)), block), "y"));
  const auto graph = built(std::move(g));
  const auto leaves = values(*graph);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      auto run = prepare(graph, leaves);
      ASSERT_TRUE(run) << run.error().message();
      for (int times = 0; times < 5; ++times) {
        ASSERT_TRUE((*run)->plan().run());
        EXPECT_LT(nmse(*(*run)->output(graph->outputs()[0]), expected(*graph, leaves)), 1e-4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace shunt::test::streams_test
