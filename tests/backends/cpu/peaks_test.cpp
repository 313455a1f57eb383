// The loops, threads and memory that measure the CPU's peaks. Judging the speeds is left to people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>

#include "backends/cpu/every_level.h"
#include "backends/cpu/peak_memory.h"
#include "backends/cpu/peak_meter.h"
#include "backends/cpu/pinned_threads.h"
#include "backends/cpu/simd/peak_loops.h"
#include "shunt/registry.h"

namespace shunt::cpu::simd::peaks_test {
namespace {

constexpr std::array kArithmetic = {Peak::kInt8, Peak::kBf16, Peak::kF32};

class CpuPeakLoops : public AtLevel {};

TEST_P(CpuPeakLoops, UseNothingAboveTheLevel) {
  const std::map<std::string, std::set<std::string_view>> may_use = {
      {"amx", {"", "sse4", "avx2", "avx2_vnni", "avx3", "amx"}},
      {"avx3_dl", {"", "sse4", "avx2", "avx2_vnni", "avx3"}},
      {"avx3", {"", "sse4", "avx2", "avx2_vnni", "avx3"}},
      {"avx2_vnni", {"", "sse4", "avx2", "avx2_vnni"}},
      {"avx2", {"", "sse4", "avx2"}},
      {"sse4", {"", "sse4"}},
      {"neon", {""}},
      {"scalar", {""}}};
  for (const Peak peak : kArithmetic) {
    const PeakLoop& loop = peak_loop(test_level(), peak);
    EXPECT_EQ(loop.peak, peak);
    EXPECT_EQ(may_use.at(GetParam()).count(loop.level), 1U) << loop.unit;
  }
}

/// 12 chains; a vector of 512 bits holds 64 numbers of 8 bits, 32 of 16 and 16 of 32; a
/// multiply-add is two operations. Of AMX 4 tiles of 16 times 16 sums, of 64 bytes of either number
/// each.
TEST_P(CpuPeakLoops, CountTheOperationsOfTheirInstructions) {
  const std::map<std::string_view, double> a_round = {
      {"AVX-512 VNNI", 12 * 64 * 2}, {"AVX-512 maddubs", 12 * 64 * 2}, {"AVX-VNNI", 12 * 32 * 2},
      {"AVX2 maddubs", 12 * 32 * 2}, {"SSE4 maddubs", 12 * 16 * 2},    {"plain code", 64 * 2},
      {"AVX-512 BF16", 12 * 32 * 2},
  };
  constexpr double kAmxBytes = 4.0 * 16 * 16 * 64;
  const std::map<std::string, double> f32_lanes = {{"amx", 16},      {"avx3_dl", 16}, {"avx3", 16},
                                                   {"avx2_vnni", 8}, {"avx2", 8},     {"sse4", 4},
                                                   {"neon", 4},      {"scalar", 1}};
  for (const Peak peak : kArithmetic) {
    const PeakLoop& loop = peak_loop(test_level(), peak);
    const auto found = a_round.find(loop.unit);
    double expected = found != a_round.end() ? found->second : 12 * 2 * f32_lanes.at(GetParam());
    if (loop.unit == "AMX") expected = peak == Peak::kInt8 ? 2 * kAmxBytes : kAmxBytes;
    EXPECT_EQ(loop.run(test_level(), 10), 10 * expected) << loop.unit;
    EXPECT_EQ(loop.run(test_level(), 0), 0) << loop.unit;
  }
}

TEST_P(CpuPeakLoops, ReadNothingPastTheMemory) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t size = std::max(page, kReadStep);
  void* memory =
      ::mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* bytes = static_cast<std::byte*>(memory);
  ASSERT_EQ(::mprotect(bytes + size, page, PROT_NONE), 0);
  read_memory(test_level(), {bytes, size});
  ::munmap(memory, size + page);
}

INSTANTIATE_TEST_SUITE_P(, CpuPeakLoops, testing::ValuesIn(level_names()), name_of_level);

}  // namespace
}  // namespace shunt::cpu::simd::peaks_test

namespace shunt::cpu::peaks_test {
namespace {

std::size_t processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set))
                                                        : 0;
}

TEST(CpuPinnedThreads, EachThreadRunsOnceOnOneProcessor) {
  const std::size_t before = processors_of_this_thread();
  std::array<std::atomic<int>, 5> times = {};
  std::atomic<int> on_one = 0;
  const Status done = run_pinned(5, [&](int thread) {
    ++times[static_cast<std::size_t>(thread)];
    if (processors_of_this_thread() == 1) ++on_one;
  });
  EXPECT_TRUE(done);
  for (const auto& each : times) EXPECT_EQ(each, 1);
  EXPECT_EQ(on_one, 5);
  EXPECT_EQ(processors_of_this_thread(), before) << "the caller runs where it ran";
}

TEST(CpuPeakMemory, IsAlignedToALargePage) {
  const auto memory = PeakMemory::create(std::size_t{4} << 20);
  ASSERT_TRUE(memory) << memory.error().message();
  const auto bytes = (*memory)->bytes();
  EXPECT_EQ(bytes.size(), std::size_t{4} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (std::size_t{2} << 20), 0U);
  std::ranges::fill(bytes, std::byte{1});
}

TEST(CpuPeakMemory, MoreThanTheSystemHasIsOutOfMemory) {
  for (const std::size_t bytes : {std::size_t{1} << 50, ~std::size_t{0}}) {
    const auto memory = PeakMemory::create(bytes);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code(), ErrorCode::kOutOfMemory);
    EXPECT_THAT(memory.error().message(), testing::HasSubstr(std::to_string(bytes)));
  }
}

TEST(CpuPeakMeter, DefaultsToTheThreadsOfTheDevice) {
  Options options;
  options.threads = 2;
  const auto registry = Registry::create(options);
  ASSERT_TRUE(registry);
  Device& cpu = **(*registry)->find("cpu0");
  EXPECT_EQ((*cpu.open_peak_meter(0))->threads(), 2);
  EXPECT_EQ((*cpu.open_peak_meter(3))->threads(), 3);
  for (const int threads : {-1, 1025}) {
    const auto meter = cpu.open_peak_meter(threads);
    ASSERT_FALSE(meter) << threads;
    EXPECT_EQ(meter.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(CpuPeakMeter, MeasuresArithmeticWithThreads) {
  CpuPeakMeter meter(2, simd::Level::best());
  for (const Peak peak : {Peak::kInt8, Peak::kBf16, Peak::kF32}) {
    const auto rate = meter.measure(peak, 0);
    ASSERT_TRUE(rate) << rate.error().message();
    EXPECT_GT(rate->per_second, 0);
    EXPECT_FALSE(rate->unit.empty());
  }
}

}  // namespace
}  // namespace shunt::cpu::peaks_test
