#include "backends/cuda/peak_meter.h"

#include "backends/cuda/kernels/peak.h"
#include "base/clock.h"
#include "shunt/message.h"

namespace shunt::cuda {

namespace {

/// Many times a card's cache.
constexpr std::size_t kMemory = std::size_t{512} << 20;
constexpr unsigned kThreads = 256;
/// Enough warps for each multiprocessor.
constexpr unsigned kBlocksPerMultiprocessor = 8;
constexpr std::uint64_t kFewestRounds = 32;
static_assert(kFewestRounds % gpu::kPeakUnroll == 0);
constexpr std::uint64_t kMostRounds = std::uint64_t{1} << 32;
/// A launch that takes as long hides its own cost.
constexpr double kLaunchSeconds = 5e-3;

}  // namespace

struct CudaPeakMeter::Loop {
  const char* kernel;
  double operations;  ///< of a chain's instruction
  const char* unit;
  bool stands_in = false;
};

const CudaPeakMeter::Loop& CudaPeakMeter::loop_of(Peak peak) {
  static constexpr Loop kLoops[] = {
      {"peak_read", 0, "loads of 16 bytes"},  // Peak::kRead
      {"peak_int8", 8, "dp4a"},               // kInt8
      {"peak_f32", 2, "FMA", true},           // kBf16
      {"peak_f32", 2, "FMA"},                 // kF32
  };
  return kLoops[static_cast<std::size_t>(peak)];
}

unsigned CudaPeakMeter::blocks() const {
  return static_cast<unsigned>(target_.multiprocessors) * kBlocksPerMultiprocessor;
}

Result<FunctionHandle> CudaPeakMeter::find(const Loop& loop) {
  return modules_.find("peak", target_.level, loop.kernel);
}

Result<double> CudaPeakMeter::time(FunctionHandle function, std::uint64_t rounds) const {
  gpu::PeakArgs parameters = {};
  if (data_) {
    parameters.data.address = device_address({data_.get(), 0});
    parameters.loads = kMemory / gpu::kPeakLoad;
  }
  parameters.rounds = rounds;
  const double start = steady_seconds();
  SHUNT_TRY(memory_.context()->launch_and_wait(function, blocks(), kThreads, &parameters));
  return steady_seconds() - start;
}

Result<double> CudaPeakMeter::measure_reading(double seconds) {
  if (!data_) {
    SHUNT_ASSIGN(auto made, memory_.allocate(kMemory));
    SHUNT_TRY(made->fill(0, kMemory, std::byte{1}));
    data_ = std::move(made);
  }
  SHUNT_ASSIGN(const FunctionHandle function, find(loop_of(Peak::kRead)));
  double taken = 0;
  double bytes = 0;
  do {
    SHUNT_ASSIGN(const double once, time(function, 0));
    taken += once;
    bytes += kMemory;
  } while (taken < seconds);
  return bytes / taken;
}

Result<double> CudaPeakMeter::measure_arithmetic(const Loop& loop, double seconds) {
  SHUNT_ASSIGN(const FunctionHandle function, find(loop));
  std::uint64_t rounds = kFewestRounds;
  double once = 0;
  for (;; rounds *= 2) {
    SHUNT_ASSIGN(once, time(function, rounds));
    if (once >= kLaunchSeconds || rounds >= kMostRounds) break;
  }
  double taken = once;
  double launches = 1;
  while (taken < seconds) {
    SHUNT_ASSIGN(once, time(function, rounds));
    taken += once;
    ++launches;
  }
  return launches * static_cast<double>(rounds) * loop.operations * gpu::kPeakChains * blocks() *
         kThreads / taken;
}

Result<PeakRate> CudaPeakMeter::measure(Peak peak, double seconds) {
  const Loop& loop = loop_of(peak);
  SHUNT_ASSIGN(const double rate,
               peak == Peak::kRead ? measure_reading(seconds) : measure_arithmetic(loop, seconds));
  return PeakRate{rate, loop.unit, loop.stands_in};
}

}  // namespace shunt::cuda
