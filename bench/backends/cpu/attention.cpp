// The CPU's attention kernel on one thread, in the shape of a model with 32 heads that share 8
// heads of k and v: the last `tokens` of `keys` positions under a causal mask. Gflop/s counts the
// two products over keys that a query sees; GB/s counts k and v once. Where queries are few, k and
// v come from memory: there is one pair for each of several layers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/kernels/attention_parts.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

KernelList attention_kernels();

namespace {

constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kSharedHeads = 8;
constexpr std::int64_t kFew = 8;  ///< queries whose keys and values come from memory

struct alignas(64) Line {
  float floats[16];
};

/// A contiguous tensor of normally distributed numbers.
struct Data {
  std::vector<Line> lines;
  std::size_t bytes;
  TensorArg arg;

  Data(DType dtype, const Sizes& sizes) {
    const auto n = static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2]);
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = i < 65536 ? normal(random) : values[i - 65521];
    const DTypeTrait& type = trait(dtype);
    const auto width = static_cast<std::int64_t>(type.block_bytes);
    const std::int64_t row = sizes[0] / type.block_elements * width;
    bytes = static_cast<std::size_t>(row * sizes[1] * sizes[2]);
    lines.resize(bytes / sizeof(Line) + 1);
    auto* data = reinterpret_cast<std::byte*>(lines.data());
    type.encode(values.data(), data, static_cast<std::int64_t>(n));
    arg = {data, sizes, {width, row, row * sizes[1], 0}, dtype};
    arg.level = simd::Level::best();
  }
};

/// The causal mask of the queries: F16, as a model's mask is.
Data causal_mask(std::int64_t keys, std::int64_t tokens) {
  Data mask(DType::kF16, {keys, tokens, 1, 1});
  constexpr std::uint16_t kMinusInfinity = 0xfc00;
  for (std::int64_t t = 0; t < tokens; ++t) {
    auto* row = reinterpret_cast<std::uint16_t*>(mask.arg.row(t));
    std::fill_n(row, keys, std::uint16_t{0});
    std::fill_n(row + t + keys - tokens + 1, tokens - t - 1, kMinusInfinity);
  }
  return mask;
}

void attention(benchmark::State& state, DType dtype) {
  const std::int64_t tokens = state.range(0);
  const std::int64_t keys = state.range(1);
  const std::int64_t d = state.range(2);
  Data q(DType::kF32, {d, kHeads, tokens, 1});
  Data y(DType::kF32, {d, kHeads, tokens, 1});
  const Data mask = causal_mask(keys, tokens);
  std::vector<Data> k;
  std::vector<Data> v;
  constexpr std::size_t kOutOfCache = 192 << 20;
  do {
    k.emplace_back(dtype, Sizes{d, kSharedHeads, keys, 1});
    v.emplace_back(dtype, Sizes{d, kSharedHeads, keys, 1});
  } while (tokens <= kFew && 2 * k[0].bytes * k.size() < kOutOfCache);
  const Params params = Params::of(AttentionParams{0.0883F});
  Call call;
  call.result = y.arg;
  call.params = &params;
  std::vector<Line> scratch(128 * 1024);
  // The results of ranges of keys, and whether a range has one. There are at most 64 ranges.
  const auto row_lines = static_cast<std::size_t>(d / 16 + 3);
  std::vector<Line> shared(
      64 * row_lines *
      static_cast<std::size_t>(std::min(kHeads * tokens, kSharedHeads * kSplitRows)));
  call.scratch = reinterpret_cast<std::byte*>(shared.data());

  const CpuKernel& kernel = *attention_kernels()[0];
  std::size_t layer = 0;
  for (auto _ : state) {
    call.sources = {q.arg, k[layer].arg, v[layer].arg, mask.arg};
    layer = (layer + 1) % k.size();
    for (int phase = 0; phase < kernel.phases(); ++phase) {
      kernel.run(call, phase, 0, kernel.items(call, phase),
                 reinterpret_cast<std::byte*>(scratch.data()));
    }
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  const auto seen = static_cast<double>(tokens * (2 * keys - tokens + 1) / 2);
  state.counters["Gflop/s"] = benchmark::Counter(
      4e-9 * static_cast<double>(d * kHeads) * seen * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(2 * k[0].bytes) * runs,
                                              benchmark::Counter::kIsRate);
}

void cases(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tokens", "keys", "d"});
  for (const std::int64_t d : {64, 128, 256}) {
    bench->Args({512, 512, d})->Args({512, 4608, d});
    for (const std::int64_t tokens : {1, 2, 4, 8, 16, 32}) bench->Args({tokens, 4096, d});
    bench->Args({1, 16384, d});
  }
}

BENCHMARK_CAPTURE(attention, F32, DType::kF32)->Apply(cases);
BENCHMARK_CAPTURE(attention, F16, DType::kF16)->Apply(cases);
BENCHMARK_CAPTURE(attention, BF16, DType::kBF16)->Apply(cases);
BENCHMARK_CAPTURE(attention, Q8_0, DType::kQ8_0)->Apply(cases);

}  // namespace
}  // namespace shunt::cpu
