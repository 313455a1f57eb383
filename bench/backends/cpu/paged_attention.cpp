// The CPU's paged attention while many sequences generate: one token of each, in the shape of a
// model with 12 heads that share 4 heads of k and v. GB/s counts the k and v of all sequences once.
// They come from memory: there are several layers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "backends/cpu/kernel.h"
#include "shunt/ops/attention.h"

namespace shunt::cpu {

KernelList paged_attention_kernels();

namespace {

constexpr std::int64_t kBlock = 64;
constexpr std::size_t kOutOfCache = 192 << 20;

struct alignas(64) Line {
  std::byte bytes[64];
};
using Lines = std::vector<Line>;

Lines room(std::size_t bytes) {
  return Lines(bytes / sizeof(Line) + 1);
}
std::byte* start(Lines& lines) {
  return lines.front().bytes;
}

/// A contiguous tensor.
struct Data {
  Lines lines;
  std::size_t bytes = 0;
  TensorArg arg;

  Data(DType dtype, const Sizes& sizes) {
    const DTypeTrait& type = trait(dtype);
    const auto width = static_cast<std::int64_t>(type.block_bytes);
    const std::int64_t row = sizes[0] / type.block_elements * width;
    bytes = static_cast<std::size_t>(row * sizes[1] * sizes[2]);
    lines = room(bytes);
    arg = {start(lines), sizes, {width, row, row * sizes[1], 0}, dtype};
    arg.most = sizes;
    arg.level = simd::Level::best();
  }
  /// Normally distributed numbers.
  void fill() {
    const auto n = static_cast<std::size_t>(arg.sizes[0] * arg.sizes[1] * arg.sizes[2]);
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = i < 65536 ? normal(random) : values[i - 65521];
    trait(arg.dtype).encode(values.data(), arg.data, static_cast<std::int64_t>(n));
  }
  std::int32_t* integers() { return reinterpret_cast<std::int32_t*>(arg.data); }
};

void paged_attention(benchmark::State& state, DType dtype) {
  const std::int64_t sequences = state.range(0);
  const std::int64_t keys = state.range(1);
  const std::int64_t heads = state.range(2);
  const std::int64_t shared_heads = state.range(3);
  const std::int64_t d = state.range(4);
  const auto threads = static_cast<int>(state.range(5));
  const std::int64_t blocks = (keys + kBlock - 1) / kBlock;
  Data q(DType::kF32, {d, heads, sequences, 1});
  q.fill();
  Data y(DType::kF32, {d, heads, sequences, 1});
  std::vector<Data> k;
  std::vector<Data> v;
  do {
    for (std::vector<Data>* data : {&k, &v})
      data->emplace_back(dtype, Sizes{d, shared_heads, sequences * blocks * kBlock, 1}).fill();
  } while (2 * k[0].bytes * k.size() < kOutOfCache);
  Data table(DType::kI32, {sequences * blocks, 1, 1, 1});
  std::iota(table.integers(), table.integers() + sequences * blocks, 0);
  std::shuffle(table.integers(), table.integers() + sequences * blocks, std::minstd_rand(1));
  Data ends(DType::kI32, {3, sequences, 1, 1});
  for (std::int64_t s = 0; s < sequences; ++s) {
    std::int32_t* of = ends.integers() + 3 * s;
    of[0] = static_cast<std::int32_t>(s + 1);
    of[1] = static_cast<std::int32_t>(keys);
    of[2] = static_cast<std::int32_t>(s * blocks);
  }
  const Params params = Params::of(PagedAttentionParams{.scale = 0.125F, .block = kBlock});
  Call call;
  call.result = y.arg;
  call.params = &params;
  call.threads = threads;
  Lines shared = room(64 << 20);
  call.scratch = start(shared);
  std::vector<Lines> scratch;
  for (int i = 0; i < threads; ++i) scratch.push_back(room(4 << 20));

  const CpuKernel& kernel = *paged_attention_kernels()[0];
  std::size_t layer = 0;
  for (auto _ : state) {
    call.sources = {q.arg, k[layer].arg, v[layer].arg, ends.arg, table.arg};
    layer = (layer + 1) % k.size();
    kernel.run(call, 0, 0, 1, start(scratch[0]));
    std::vector<std::jthread> others;
    const auto run = [&](int i) {
      kernel.run(call, 1, i, i + 1, start(scratch[static_cast<std::size_t>(i)]));
    };
    for (int i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    others.clear();
    benchmark::ClobberMemory();
  }
  const auto read = static_cast<double>(2 * k[0].bytes) * static_cast<double>(keys) /
                    static_cast<double>(blocks * kBlock);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * read * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
}

void cases(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"sequences", "keys", "heads", "shared", "d", "threads"})->UseRealTime();
  for (const std::int64_t threads : {1, 2}) {
    bench->Args({64, 520, 12, 4, 64, threads})
        ->Args({16, 4104, 12, 4, 64, threads})
        ->Args({1, 520, 12, 4, 64, threads})
        ->Args({1, 4104, 12, 4, 64, threads})
        ->Args({16, 4104, 32, 8, 128, threads})
        ->Args({64, 520, 12, 12, 64, threads});
  }
}

BENCHMARK_CAPTURE(paged_attention, F16, DType::kF16)->Apply(cases);
BENCHMARK_CAPTURE(paged_attention, Q8_0, DType::kQ8_0)->Apply(cases);

}  // namespace
}  // namespace shunt::cpu
