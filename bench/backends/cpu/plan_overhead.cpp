// The overhead of a plan: 1,000 additions of 64 F32 values each on one thread. They run as a plan
// and as a plain loop over the same kernel calls. The difference, divided by 1,000, is the overhead
// of a node.
#include <benchmark/benchmark.h>

#include <cstring>

#include "backends/cpu/kernel.h"
#include "shunt/ops.h"
#include "shunt/plan.h"
#include "shunt/registry.h"

namespace shunt {

namespace cpu {
KernelList arithmetic_kernels();  // the first is that of add
}

namespace {

constexpr int kNodes = 1000;
constexpr std::int64_t kValues = 64;

void plan(benchmark::State& state) {
  Options options;
  options.threads = 1;
  const auto registry = Registry::create(options);
  const auto devices = (*registry)->select({});
  GraphBuilder g;
  const auto x = g.input("x", *make_tensor(DType::kF32, {kValues}));
  const auto y = g.input("y", *make_tensor(DType::kF32, {kValues}));
  Result<Value> sum = add(g, x, y);
  for (int i = 1; i < kNodes; ++i) sum = add(g, sum, y);
  if (!g.output(sum, "sum")) return state.SkipWithError("no output");
  const auto graph = std::make_shared<const Graph>(std::move(*std::move(g).build()));
  const auto made = compile(graph, *place(*graph, *devices), {.steps_in_flight = 1});
  if (!made) return state.SkipWithError(made.error().message().c_str());
  for (const auto& input : {*x, *y})
    std::memset((*made)->input(input)->data(), 0, kValues * sizeof(float));
  for (auto _ : state) {
    if (!(*made)->run()) return state.SkipWithError("the run failed");
  }
  state.SetItemsProcessed(state.iterations() * kNodes);
}
BENCHMARK(plan)->Name("1000 additions/plan");

void loop(benchmark::State& state) {
  const cpu::CpuKernel& kernel = *cpu::arithmetic_kernels().front();
  alignas(64) float values[2][kValues] = {};
  const Params params;
  cpu::Call call;
  const auto arg = [&](float* data) {
    cpu::TensorArg made;
    made.data = reinterpret_cast<std::byte*>(data);
    made.sizes = {kValues, 1, 1, 1};
    made.strides = {4, 4 * kValues, 4 * kValues, 4 * kValues};
    made.level = cpu::simd::Level::best();
    return made;
  };
  call.sources[0] = arg(values[0]);
  call.sources[1] = arg(values[1]);
  call.result = arg(values[0]);
  call.params = &params;
  // The same as in the plan: one call for each node.
  std::vector<cpu::Call> calls(kNodes, call);
  alignas(64) static std::byte scratch[1 << 16];
  for (auto _ : state) {
    for (const cpu::Call& each : calls) {
      benchmark::DoNotOptimize(kernel.run(each, 0, 0, kernel.items(each, 0), scratch));
    }
  }
  state.SetItemsProcessed(state.iterations() * kNodes);
}
BENCHMARK(loop)->Name("1000 additions/loop");

}  // namespace
}  // namespace shunt
