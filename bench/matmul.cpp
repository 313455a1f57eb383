// The CPU's matmul kernel on one thread: w [2048, 2048] of each type, x [2048, N].
// Gflop/s counts 2 operations for each product; GB/s counts the bytes of w once.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/cpu/kernel.h"

namespace shunt::cpu {

KernelList matmul_kernels();

namespace {

constexpr std::int64_t kSize = 2048;

std::vector<float> random_floats(std::int64_t n) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

TensorArg matrix(DType dtype, std::byte* data, std::int64_t columns, std::int64_t rows) {
  const DTypeTrait& type = trait(dtype);
  const auto block = static_cast<std::int64_t>(type.block_bytes);
  const std::int64_t row = columns / type.block_elements * block;
  return {data, {columns, rows, 1, 1}, {block, row, row * rows, row * rows}, dtype};
}

void matmul(benchmark::State& state, DType dtype) {
  const std::int64_t n = state.range(0);
  const std::vector<float> values = random_floats(kSize * kSize);
  const DTypeTrait& type = trait(dtype);
  std::vector<std::byte> w(values.size() / static_cast<std::size_t>(type.block_elements) *
                           type.block_bytes);
  type.encode(values.data(), w.data(), kSize * kSize);
  std::vector<float> x = random_floats(kSize * n);
  std::vector<float> y(static_cast<std::size_t>(kSize * n));

  Call call;
  call.sources[0] = matrix(dtype, w.data(), kSize, kSize);
  call.sources[1] = matrix(DType::kF32, reinterpret_cast<std::byte*>(x.data()), kSize, n);
  call.result = matrix(DType::kF32, reinterpret_cast<std::byte*>(y.data()), kSize, n);
  struct alignas(64) Line {
    float floats[16];
  };
  std::vector<Line> scratch(4 * 1024);

  const CpuKernel& kernel = *matmul_kernels()[0];
  for (auto _ : state) {
    kernel.run(call, 0, 0, kernel.items(call, 0), reinterpret_cast<std::byte*>(scratch.data()));
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["Gflop/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(kSize * kSize * n) * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * static_cast<double>(w.size()) * runs, benchmark::Counter::kIsRate);
}

#define SHUNT_BENCH_MATMUL(type)                  \
  BENCHMARK_CAPTURE(matmul, type, DType::k##type) \
      ->Arg(1)                                    \
      ->Arg(2)                                    \
      ->Arg(4)                                    \
      ->Arg(5)                                    \
      ->Arg(6)                                    \
      ->Arg(7)                                    \
      ->Arg(8)                                    \
      ->Arg(12)                                   \
      ->Arg(16)                                   \
      ->Arg(24)                                   \
      ->Arg(32)                                   \
      ->Arg(512)
SHUNT_BENCH_MATMUL(F32);
SHUNT_BENCH_MATMUL(F16);
SHUNT_BENCH_MATMUL(BF16);
SHUNT_BENCH_MATMUL(Q8_0);
SHUNT_BENCH_MATMUL(Q4_0);

}  // namespace
}  // namespace shunt::cpu
