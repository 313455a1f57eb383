#include "backends/cuda/peak_meter.h"

#include <algorithm>

#include "backends/cuda/kernels/peak.h"
#include "base/clock.h"
#include "base/guarded.h"
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
/// Batches double until one takes this long, which hides the overhead of a launch and of the wait.
constexpr double kBatchSeconds = 5e-3;
constexpr int kMostDoublings = 24;

}  // namespace

struct CudaPeakMeter::Loop {
  const char* kernel;
  double operations;  ///< of an instruction; 0: it reads memory
  const char* unit;
  bool stands_in = false;
};

const CudaPeakMeter::Loop& CudaPeakMeter::loop_of(Peak peak) {
  static constexpr Loop kLoops[] = {
      {"peak_read", 0, "loads of 16 bytes"},               // Peak::kRead
      {"peak_int8", 8, "dp4a, without tensor cores"},      // kInt8
      {"peak_f32", 2, "FMA, without tensor cores", true},  // kBf16
      {"peak_f32", 2, "FMA"},                              // kF32
  };
  return kLoops[static_cast<std::size_t>(peak)];
}

unsigned CudaPeakMeter::blocks() const {
  return static_cast<unsigned>(target_.multiprocessors) * kBlocksPerMultiprocessor;
}

Status CudaPeakMeter::fill_memory() {
  if (data_) return ok();
  SHUNT_ASSIGN(auto made, memory_.allocate(kMemory));
  SHUNT_TRY(made->fill(0, kMemory, std::byte{1}));
  data_ = std::move(made);
  return ok();
}

Result<double> CudaPeakMeter::time(FunctionHandle function, const Batch& batch) const {
  gpu::PeakArgs parameters = {};
  if (data_) {
    parameters.data.address = device_address({data_.get(), 0});
    parameters.loads = kMemory / gpu::kPeakLoad;
  }
  parameters.rounds = batch.rounds;
  const double start = steady_seconds();
  SHUNT_TRY(memory_.context()->launch_and_wait(function, blocks(), kThreads, &parameters,
                                               batch.launches));
  return std::max(steady_seconds() - start, 1e-9);
}

Result<PeakRate> CudaPeakMeter::measure(const Loop& loop, double seconds) {
  const bool reads = loop.operations == 0;
  if (reads) SHUNT_TRY(fill_memory());
  SHUNT_ASSIGN(FunctionHandle function, modules_.find("peak", target_.level, loop.kernel));
  Batch batch = {.rounds = reads ? 0 : kFewestRounds};
  SHUNT_ASSIGN(double once, time(function, batch));
  for (int i = 0; i < kMostDoublings && once < kBatchSeconds; ++i) {
    batch.rounds *= 2;
    if (reads) batch.launches *= 2;
    SHUNT_ASSIGN(once, time(function, batch));
  }
  double taken = once;
  double batches = 1;
  for (; taken < seconds; ++batches) {
    SHUNT_ASSIGN(once, time(function, batch));
    taken += once;
  }
  const double instructions =
      static_cast<double>(batch.rounds) * gpu::kPeakChains * blocks() * kThreads;
  const double work =
      reads ? static_cast<double>(kMemory) * batch.launches : instructions * loop.operations;
  return PeakRate{batches * work / taken, loop.unit, loop.stands_in};
}

Result<PeakRate> CudaPeakMeter::measure(Peak peak, double seconds) {
  return guarded([&] { return measure(loop_of(peak), seconds); });
}

}  // namespace shunt::cuda
