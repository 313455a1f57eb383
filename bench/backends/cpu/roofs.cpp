// The two roofs that products of matrices are held against, of one thread. (The products
// themselves: `shunt bench ops`.)
#include <benchmark/benchmark.h>

#include <vector>

#include "backends/cpu/simd/matmul.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

namespace {

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

/// Arithmetic: one tile's worth of operands that stay in the first cache.
void roof_arithmetic(benchmark::State& state) {
  constexpr std::int64_t kDepth = 512;
  constexpr std::int64_t kStride = kDepth + 16;
  Memory w(simd::kPanelRows * kStride * sizeof(float));
  Memory x(6 * kStride * sizeof(float));
  float y[6 * simd::kPanelRows] = {};
  for (auto _ : state) {
    simd::multiply_panel(simd::Level::best(), reinterpret_cast<const float*>(w.data()), kStride,
                         simd::kPanelRows, reinterpret_cast<const float*>(x.data()), kStride, 6,
                         kDepth, y, simd::kPanelRows, false);
    benchmark::DoNotOptimize(y);
  }
  state.counters["Gflop/s"] = benchmark::Counter(
      2e-9 * simd::kPanelRows * 6 * kDepth * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

/// Memory bandwidth: reads the argument's number of MiB again and again.
void roof_memory(benchmark::State& state) {
  Memory row(static_cast<std::size_t>(state.range(0)) << 20);
  const auto n = static_cast<std::int64_t>(row.size() / sizeof(float));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        simd::sum_squares(simd::Level::best(), reinterpret_cast<const float*>(row.data()), n));
  }
  state.counters["GB/s"] = benchmark::Counter(
      1e-9 * static_cast<double>(row.size()) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}

BENCHMARK(roof_arithmetic);
BENCHMARK(roof_memory)->ArgName("MiB")->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(256);

}  // namespace
}  // namespace shunt::cpu
