// The CPU's attention kernel on one thread: 32 heads of 128 that share 8 heads of k and v.
// Gflop/s counts the two products over all keys, masked or not; GB/s counts k and v once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

KernelList attention_kernels();

namespace {

constexpr std::int64_t kHeadSize = 128;
constexpr std::int64_t kHeads = 32;
constexpr std::int64_t kSharedHeads = 8;
constexpr std::int64_t kFew = 8;  ///< queries for which keys are cut

struct alignas(64) Line {
  float floats[16];
};

/// A contiguous tensor of normally distributed numbers.
struct Data {
  std::vector<std::byte> bytes;
  TensorArg arg;

  Data(DType dtype, const Sizes& sizes) {
    const auto n = static_cast<std::size_t>(sizes[0] * sizes[1] * sizes[2]);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    const DTypeTrait& type = trait(dtype);
    const auto width = static_cast<std::int64_t>(type.block_bytes);
    const std::int64_t row = sizes[0] / type.block_elements * width;
    bytes.resize(static_cast<std::size_t>(row * sizes[1] * sizes[2]));
    type.encode(values.data(), bytes.data(), static_cast<std::int64_t>(n));
    arg = {bytes.data(), sizes, {width, row, row * sizes[1], 0}, dtype};
  }
};

void attention(benchmark::State& state, DType dtype) {
  const std::int64_t tokens = state.range(0);
  const std::int64_t keys = state.range(1);
  const bool causal = state.range(2) != 0;
  Data q(DType::kF32, {kHeadSize, kHeads, tokens, 1});
  Data k(dtype, {kHeadSize, kSharedHeads, keys, 1});
  Data v(dtype, {kHeadSize, kSharedHeads, keys, 1});
  Data y(DType::kF32, {kHeadSize, kHeads, tokens, 1});
  Data mask(DType::kF32, {keys, tokens, 1, 1});
  for (std::int64_t t = 0; t < tokens; ++t) {
    auto* row = reinterpret_cast<float*>(mask.bytes.data()) + t * keys;
    for (std::int64_t n = 0; n < keys; ++n) {
      row[n] = causal && n > t + keys - tokens ? -std::numeric_limits<float>::infinity() : 0.0F;
    }
  }
  const Params params = Params::of(AttentionParams{0.0883F});
  Call call;
  call.sources = {q.arg, k.arg, v.arg, mask.arg};
  call.result = y.arg;
  call.params = &params;
  std::vector<Line> scratch(16 * 1024);
  // What stretches of keys give: there are at most 64 of them, of rows of less than 10 lines.
  std::vector<Line> shared(64 * 10 * static_cast<std::size_t>(kHeads * std::min(tokens, kFew)));
  call.scratch = reinterpret_cast<std::byte*>(shared.data());

  const CpuKernel& kernel = *attention_kernels()[0];
  for (auto _ : state) {
    for (int phase = 0; phase < kernel.phases(); ++phase) {
      kernel.run(call, phase, 0, kernel.items(call, phase),
                 reinterpret_cast<std::byte*>(scratch.data()));
    }
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["Gflop/s"] =
      benchmark::Counter(4e-9 * static_cast<double>(kHeadSize * kHeads * tokens * keys) * runs,
                         benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(k.bytes.size() + v.bytes.size()) * runs,
                         benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(attention, F32, DType::kF32)
    ->ArgNames({"tokens", "keys", "causal"})
    ->Args({1, 512, 0})
    ->Args({1, 4096, 0})
    ->Args({512, 512, 0})
    ->Args({512, 512, 1});
BENCHMARK_CAPTURE(attention, F16, DType::kF16)
    ->ArgNames({"tokens", "keys", "causal"})
    ->Args({1, 512, 0})
    ->Args({1, 4096, 0})
    ->Args({512, 512, 0})
    ->Args({512, 512, 1});
BENCHMARK_CAPTURE(attention, Q8_0, DType::kQ8_0)
    ->ArgNames({"tokens", "keys", "causal"})
    ->Args({1, 512, 0})
    ->Args({1, 4096, 0})
    ->Args({512, 512, 1});

}  // namespace
}  // namespace shunt::cpu
