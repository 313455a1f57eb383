#pragma once

#include <memory>

#include "backends/cuda/memory.h"
#include "backends/cuda/modules.h"
#include "shunt/peaks.h"

namespace shunt::cuda {

/// Measures a card with the instructions that its kernels use: loads of 16 bytes, dp4a, FMA. Times
/// are the host's, of launches that take some milliseconds.
class CudaPeakMeter final : public PeakMeter {
 public:
  /// All must outlive the meter.
  CudaPeakMeter(DeviceMemory& memory, Modules& modules, const CudaTarget& target)
      : memory_(memory), modules_(modules), target_(target) {}

  int threads() const override { return 1; }
  Result<PeakRate> measure(Peak peak, double seconds) override;

 private:
  struct Loop;
  static const Loop& loop_of(Peak peak);
  /// Seconds of a launch.
  Result<double> time(FunctionHandle function, std::uint64_t rounds) const;
  Result<double> measure_reading(double seconds);
  Result<double> measure_arithmetic(const Loop& loop, double seconds);
  Result<FunctionHandle> find(const Loop& loop);
  unsigned blocks() const;

  DeviceMemory& memory_;
  Modules& modules_;
  const CudaTarget& target_;
  std::unique_ptr<Buffer> data_;  // that is read; null: not yet
};

}  // namespace shunt::cuda
