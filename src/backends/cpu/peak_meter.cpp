#include "backends/cpu/peak_meter.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "backends/cpu/pinned_threads.h"
#include "backends/cpu/simd/peak_loops.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "shunt/message.h"

namespace shunt::cpu {

namespace {

constexpr std::size_t kMemory = std::size_t{1} << 30;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // read between two looks at the clock
constexpr std::int64_t kRounds = 2000;                // the same of arithmetic: microseconds

/// The sum over threads of the work of each in a second, while all of them are at it.
/// `work(thread)` does a piece and returns how much that was.
Result<double> rate_of(int threads, double seconds, const std::function<double(int)>& work) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  SHUNT_TRY(run_pinned(threads, [&](int thread) {
    const double start = steady_seconds();
    double done = 0;
    double taken = 0;
    // A clock that stands still ends it, too.
    do {
      done += work(thread);
      taken = std::max(taken + 1e-9, steady_seconds() - start);
    } while (taken < seconds);
    rates[static_cast<std::size_t>(thread)] = done / taken;
  }));
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// A thread's part of the memory, in whole pieces.
std::span<std::byte> part_of(std::span<std::byte> memory, int thread, int threads) {
  const auto pieces = memory.size() / kPiece;
  const auto edge = [&](int number) {
    return pieces * static_cast<std::size_t>(number) / static_cast<std::size_t>(threads) * kPiece;
  };
  return memory.subspan(edge(thread), edge(thread + 1) - edge(thread));
}

}  // namespace

Status CpuPeakMeter::fill_memory() {
  if (memory_) return ok();
  SHUNT_ASSIGN(auto memory, PeakMemory::create(kMemory));
  const std::size_t before = PeakMemory::bytes_in_huge_pages();
  SHUNT_TRY(run_pinned(threads_, [&](int thread) {
    const auto part = part_of(memory->bytes(), thread, threads_);
    std::memset(part.data(), 1, part.size());
  }));
  huge_pages_ = PeakMemory::bytes_in_huge_pages() >= before + kMemory / 2;
  memory_ = std::move(memory);
  return ok();
}

Result<PeakRate> CpuPeakMeter::measure_reading(double seconds) {
  SHUNT_TRY(fill_memory());
  std::vector<std::size_t> at(static_cast<std::size_t>(threads_));
  SHUNT_ASSIGN(const double rate, rate_of(threads_, seconds, [&](int thread) {
                 const auto part = part_of(memory_->bytes(), thread, threads_);
                 std::size_t& next = at[static_cast<std::size_t>(thread)];
                 simd::read_memory(level_, part.subspan(next, kPiece));
                 next = (next + kPiece) % part.size();
                 return static_cast<double>(kPiece);
               }));
  const std::string page =
      huge_pages_ ? "2 MiB" : fmt::format("{} KiB", ::sysconf(_SC_PAGESIZE) / 1024);
  return PeakRate{rate, fmt::format("{} loads, {} pages", level_.name(), page), false};
}

Result<PeakRate> CpuPeakMeter::measure_arithmetic(Peak peak, double seconds) {
  const simd::PeakLoop& loop = simd::peak_loop(level_, peak);
  SHUNT_ASSIGN(const double rate,
               rate_of(threads_, seconds, [&](int) { return loop.run(level_, kRounds); }));
  std::string unit(loop.unit);
  if (loop.level.empty()) unit += fmt::format(" ({})", level_.name());
  return PeakRate{rate, std::move(unit), loop.stands_in};
}

Result<PeakRate> CpuPeakMeter::measure(Peak peak, double seconds) {
  return guarded([&] {
    return peak == Peak::kRead ? measure_reading(seconds) : measure_arithmetic(peak, seconds);
  });
}

}  // namespace shunt::cpu
