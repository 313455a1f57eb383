// The second pass of placement on random graphs and 4 devices, on one thread. Measures the time of
// one optimize(), and the partial assignments and nodes that it times (steps). Also measures the
// predicted makespan as a share of that of a random start. The aim for 2,000 nodes is 20 ms. The
// tests know the optimum of problems with 10 nodes on 3 devices.
#include "schedule/place/optimize/optimize.h"

#include <benchmark/benchmark.h>

#include <vector>

#include "../tests/unit/schedule/optimize_problems.h"
#include "schedule/place/optimize/makespan.h"

namespace shunt {
namespace {

void schedule_optimize(benchmark::State& state, GraphKind kind) {
  constexpr std::size_t kProblems = 8;
  ProblemGenerator generator(1);
  const auto nodes = static_cast<std::size_t>(state.range(0));
  std::vector<CostProblem> problems;
  std::vector<Assignment> starts;
  for (std::size_t i = 0; i < kProblems; ++i) {
    problems.push_back(generator.draw({kind, nodes, nodes <= 10 ? 3 : 4}));
    starts.push_back(generator.draw_start(problems.back()));
  }
  std::size_t next = 0;
  double steps = 0;
  double share = 0;
  for (auto _ : state) {
    const Optimized found = optimize(problems[next], starts[next]);
    steps += static_cast<double>(found.steps);
    share += found.seconds / found.start_seconds;
    next = (next + 1) % kProblems;
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["steps"] = steps / runs;
  state.counters["share of start"] = share / runs;
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgName("nodes")->Arg(10)->Arg(100)->Arg(500)->Arg(2000)->Arg(10000);
  bench->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(schedule_optimize, chain, GraphKind::kChain)->Apply(sizes);
BENCHMARK_CAPTURE(schedule_optimize, diamonds, GraphKind::kDiamonds)->Apply(sizes);
BENCHMARK_CAPTURE(schedule_optimize, fan_out, GraphKind::kFanOut)->Apply(sizes);
BENCHMARK_CAPTURE(schedule_optimize, layers, GraphKind::kLayers)->Apply(sizes);
BENCHMARK_CAPTURE(schedule_optimize, mixed, GraphKind::kMixed)->Apply(sizes);

/// One evaluation, to compare with.
void schedule_makespan(benchmark::State& state) {
  ProblemGenerator generator(1);
  const CostProblem problem =
      generator.draw({GraphKind::kMixed, static_cast<std::size_t>(state.range(0)), 4});
  const Assignment start = generator.draw_start(problem);
  for (auto _ : state) benchmark::DoNotOptimize(makespan(problem, start));
}
BENCHMARK(schedule_makespan)->ArgName("nodes")->Arg(2000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shunt
