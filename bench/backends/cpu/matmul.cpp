// The CPU's matmul kernel on one thread: w [2048, 2048] of each type, x [2048, N].
// Gflop/s counts 2 operations for each product; GB/s counts the bytes of w once.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/cpu/kernel.h"
#include "backends/cpu/simd/matmul.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

KernelList matmul_kernels();

namespace {

constexpr std::int64_t kSize = 2048;

/// Memory that starts at a cache line, as that of a device does.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes), lines_(bytes / sizeof(Line) + 1) {}
  std::size_t size() const { return bytes_; }
  std::byte* data() { return lines_.data()->bytes; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::size_t bytes_;
  std::vector<Line> lines_;
};

/// A matrix of normally distributed numbers, with a view of it.
struct Matrix {
  Memory memory;
  TensorArg arg;

  Matrix(DType dtype, std::int64_t columns, std::int64_t rows)
      : memory(bytes(dtype, columns * rows)) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(columns * rows));
    for (float& value : values) value = normal(random);
    trait(dtype).encode(values.data(), memory.data(), columns * rows);
    const auto block = static_cast<std::int64_t>(trait(dtype).block_bytes);
    const auto row = static_cast<std::int64_t>(bytes(dtype, columns));
    arg = {memory.data(), {columns, rows, 1, 1}, {block, row, row * rows, row * rows}, dtype};
  }
  static std::size_t bytes(DType dtype, std::int64_t n) {
    return static_cast<std::size_t>(n / trait(dtype).block_elements) * trait(dtype).block_bytes;
  }
};

void matmul(benchmark::State& state, DType dtype) {
  const std::int64_t n = state.range(0);
  Matrix w(dtype, kSize, kSize);
  Matrix x(DType::kF32, kSize, n);
  Matrix y(DType::kF32, kSize, n);
  Memory scratch(1 << 18);
  Call call;
  call.sources = {w.arg, x.arg};
  call.result = y.arg;

  const CpuKernel& kernel = *matmul_kernels()[0];
  for (auto _ : state) {
    kernel.run(call, 0, 0, kernel.items(call, 0), scratch.data());
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["Gflop/s"] = benchmark::Counter(
      2e-9 * static_cast<double>(kSize * kSize * n) * runs, benchmark::Counter::kIsRate);
  state.counters["GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(w.memory.size()) * runs,
                                              benchmark::Counter::kIsRate);
}

// The two roofs that the kernel is held against.

/// Arithmetic: one tile's worth of operands that stay in the first cache.
void roof_arithmetic(benchmark::State& state) {
  constexpr std::int64_t kDepth = 512;
  constexpr std::int64_t kStride = kDepth + 16;
  Memory w(simd::kPanelRows * kStride * sizeof(float));
  Memory x(6 * kStride * sizeof(float));
  float y[6 * simd::kPanelRows] = {};
  for (auto _ : state) {
    simd::multiply_panel(reinterpret_cast<const float*>(w.data()), kStride, simd::kPanelRows,
                         reinterpret_cast<const float*>(x.data()), kStride, 6, kDepth, y,
                         simd::kPanelRows, false);
    benchmark::DoNotOptimize(y);
  }
  state.counters["Gflop/s"] = benchmark::Counter(
      2e-9 * simd::kPanelRows * 6 * kDepth * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

/// Memory: reading so many MiB again and again.
void roof_memory(benchmark::State& state) {
  Memory row(static_cast<std::size_t>(state.range(0)) << 20);
  const auto n = static_cast<std::int64_t>(row.size() / sizeof(float));
  for (auto _ : state) {
    benchmark::DoNotOptimize(simd::sum_squares(reinterpret_cast<const float*>(row.data()), n));
  }
  state.counters["GB/s"] = benchmark::Counter(
      1e-9 * static_cast<double>(row.size()) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

BENCHMARK(roof_arithmetic);
BENCHMARK(roof_memory)->ArgName("MiB")->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(256);

void columns(benchmark::internal::Benchmark* bench) {
  bench->ArgName("N")->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(32)->Arg(512);
}

BENCHMARK_CAPTURE(matmul, F32, DType::kF32)->Apply(columns);
BENCHMARK_CAPTURE(matmul, F16, DType::kF16)->Apply(columns);
BENCHMARK_CAPTURE(matmul, BF16, DType::kBF16)->Apply(columns);
BENCHMARK_CAPTURE(matmul, Q8_0, DType::kQ8_0)->Apply(columns);
BENCHMARK_CAPTURE(matmul, Q4_0, DType::kQ4_0)->Apply(columns);

}  // namespace
}  // namespace shunt::cpu
