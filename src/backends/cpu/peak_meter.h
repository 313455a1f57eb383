#pragma once

#include <memory>

#include "backends/cpu/peak_memory.h"
#include "shunt/peaks.h"

namespace shunt::cpu {

/// The processor's peaks, with threads of its own, one on each processor in turn. What it reads is
/// 1 GiB, allocated when that is first asked for and kept.
class CpuPeakMeter final : public PeakMeter {
 public:
  explicit CpuPeakMeter(int threads) : threads_(threads) {}
  int threads() const override { return threads_; }
  Result<PeakRate> measure(Peak peak, double seconds) override;

 private:
  Status fill_memory();
  Result<PeakRate> measure_reading(double seconds);
  Result<PeakRate> measure_arithmetic(Peak peak, double seconds);

  int threads_;
  std::unique_ptr<PeakMemory> memory_;
  bool huge_pages_ = false;
};

}  // namespace shunt::cpu
