// With `-t 1`, weights were still rearranged by a thread for each core while a model was loaded.
// Right since 59c6de0.
#include <gtest/gtest.h>
#include <time.h>

#include "shunt/graph.h"
#include "shunt/ops.h"
#include "shunt/registry.h"
#include "support/graph_run.h"

namespace shunt::test::one_thread_was_exceeded_by_repacking_test {
namespace {

double seconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(RepackingOfWeights, UsesOneThreadIfThatIsTheLimit) {
  Options options;
  options.threads = 1;
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry) << registry.error().message();
  Device& cpu = **(*registry)->find("cpu0");

  GraphBuilder g;
  const Tensor tensor = *make_tensor(DType::kF32, {1024, 4096});  // 16 MiB: work for many threads
  const auto w = g.weight("w", tensor);
  const auto x = g.input("x", *make_tensor(DType::kF32, {1024, 1}));
  ASSERT_TRUE(g.output(matmul(g, w, x), "y"));
  const Graph graph = *std::move(g).build();
  // Memory that rearranges the weight, where this processor has a use for that.
  BufferType* const chosen = chosen_memory(cpu, graph, w->id);
  BufferType& memory = chosen == nullptr ? cpu.memory() : *chosen;

  const std::vector<std::byte> plain(static_cast<std::size_t>(byte_span(tensor)), std::byte{1});
  const auto buffer = memory.allocate_for(plain.size(), std::array{PlacedTensor{tensor, 0}});
  ASSERT_TRUE(buffer) << buffer.error().message();
  const double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double own = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE((*buffer)->write(0, plain));
  const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - process;
  const double others = all - (seconds_of(CLOCK_THREAD_CPUTIME_ID) - own);
  // The share of the CPU time that other threads used, not a duration.
  EXPECT_LT(others / all, 0.1);
}

}  // namespace
}  // namespace shunt::test::one_thread_was_exceeded_by_repacking_test
