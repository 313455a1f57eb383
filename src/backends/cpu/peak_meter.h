#pragma once

#include <memory>

#include "backends/cpu/peak_memory.h"
#include "backends/cpu/simd/level.h"
#include "shunt/peaks.h"

namespace shunt::cpu {

/// The processor's peaks at a vector level, with threads of its own, one on each processor in turn.
/// The memory that it reads is 1 GiB, allocated when that is first asked for and kept.
class CpuPeakMeter final : public PeakMeter {
 public:
  CpuPeakMeter(int threads, simd::Level level) : threads_(threads), level_(level) {}
  int threads() const override { return threads_; }
  Result<PeakRate> measure(Peak peak, double seconds) override;

 private:
  Status fill_memory();
  Result<PeakRate> measure_reading(double seconds);
  Result<PeakRate> measure_arithmetic(Peak peak, double seconds);

  int threads_;
  simd::Level level_;
  std::unique_ptr<PeakMemory> memory_;
  bool huge_pages_ = false;
};

}  // namespace shunt::cpu
