// The CPU's recurrences on one thread, in the shapes of models: a delta net of 16 heads of 128 by
// 128, and a state space of 48 heads of 64 with states of 128. Tokens are computed in chunks, or
// one by one (cpu.deterministic). Gflop/s counts the products that a walk over the state needs for
// a token: three of the state's size for the delta net, two for the state space.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/cpu/kernel.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

KernelList gated_delta_net_kernels();
KernelList ssm_scan_kernels();

namespace {

/// A contiguous tensor of F32, of numbers uniform in [low, high).
class Numbers {
 public:
  Numbers(const Sizes& sizes, float low, float high)
      : lines_(static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]) / kLine + 1) {
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(low, high);
    for (Line& line : lines_) {
      for (float& number : line.floats) number = uniform(random);
    }
    constexpr std::int64_t kFloat = sizeof(float);
    arg_.data = reinterpret_cast<std::byte*>(lines_.data());
    arg_.sizes = sizes;
    arg_.most = sizes;
    arg_.strides = {kFloat, kFloat * sizes[0], kFloat * sizes[0] * sizes[1],
                    kFloat * sizes[0] * sizes[1] * sizes[2]};
    arg_.level = simd::Level::best();
  }
  const TensorArg& arg() const { return arg_; }

 private:
  static constexpr std::size_t kLine = 16;
  struct alignas(64) Line {
    float floats[kLine];
  };
  std::vector<Line> lines_;
  TensorArg arg_;
};

struct StateShape {
  std::int64_t channels;
  std::int64_t values;
  std::int64_t heads;
  std::int64_t groups;
};

/// `products`: of the state's size, for a token.
void measure(benchmark::State& state, const CpuKernel& kernel, const std::vector<Numbers>& sources,
             const Params& params, const StateShape& shape, double products) {
  const std::int64_t tokens = state.range(0);
  const Numbers result({shape.values * shape.heads, tokens + shape.channels, 1, 1}, 0, 1);
  Call call;
  for (std::size_t i = 0; i < sources.size(); ++i) call.sources[i] = sources[i].arg();
  call.result = result.arg();
  call.params = &params;
  call.batch_invariant = state.range(1) == 0;
  const Numbers scratch({1 << 18, 1, 1, 1}, 0, 1);
  for (auto _ : state) {
    kernel.run(call, 0, 0, kernel.items(call, 0), scratch.arg().data);
    benchmark::ClobberMemory();
  }
  const auto of_state = static_cast<double>(shape.channels * shape.values * shape.heads * tokens);
  const auto runs = static_cast<double>(state.iterations());
  state.counters["Gflop/s"] =
      benchmark::Counter(2e-9 * products * of_state * runs, benchmark::Counter::kIsRate);
  state.counters["token"] =
      benchmark::Counter(runs * static_cast<double>(tokens),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void gated_delta_net(benchmark::State& state) {
  constexpr StateShape kShape = {.channels = 128, .values = 128, .heads = 16, .groups = 16};
  const std::int64_t tokens = state.range(0);
  const Sizes keys = {kShape.channels, kShape.groups, tokens, 1};
  std::vector<Numbers> sources;
  sources.emplace_back(keys, -0.15F, 0.15F);
  sources.emplace_back(keys, -0.15F, 0.15F);
  sources.emplace_back(Sizes{kShape.values, kShape.heads, tokens, 1}, -1, 1);
  sources.emplace_back(Sizes{1, kShape.heads, tokens, 1}, -1, 0);
  sources.emplace_back(Sizes{1, kShape.heads, tokens, 1}, 0, 1);
  sources.emplace_back(Sizes{kShape.channels, kShape.values, kShape.heads, 1}, -1, 1);
  measure(state, *gated_delta_net_kernels()[0], sources, Params::of(GatedDeltaNetParams{0.0884F}),
          kShape, 3);
}

void ssm_scan(benchmark::State& state) {
  constexpr StateShape kShape = {.channels = 128, .values = 64, .heads = 48, .groups = 1};
  const std::int64_t tokens = state.range(0);
  const Sizes keys = {kShape.channels, kShape.groups, tokens, 1};
  std::vector<Numbers> sources;
  sources.emplace_back(Sizes{kShape.values, kShape.heads, tokens, 1}, -1, 1);
  sources.emplace_back(Sizes{kShape.heads, tokens, 1, 1}, -3, 1);
  sources.emplace_back(Sizes{1, kShape.heads, 1, 1}, -4, 0);
  sources.emplace_back(keys, -1, 1);
  sources.emplace_back(keys, -1, 1);
  sources.emplace_back(Sizes{kShape.channels, kShape.values, kShape.heads, 1}, -1, 1);
  measure(state, *ssm_scan_kernels()[0], sources, Params::of(NoParams{}), kShape, 2);
}

void cases(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tokens", "chunks"});
  for (const std::int64_t tokens : {1, 4, 5, 6, 8, 12, 16, 64, 512}) {
    for (const std::int64_t chunks : {0, 1}) bench->Args({tokens, chunks});
  }
}

BENCHMARK(gated_delta_net)->Name("recurrence/gated_delta_net")->Apply(cases);
BENCHMARK(ssm_scan)->Name("recurrence/ssm_scan")->Apply(cases);

}  // namespace
}  // namespace shunt::cpu
