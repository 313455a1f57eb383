#pragma once

#include <memory>

#include "backends/cuda/memory.h"
#include "backends/cuda/modules.h"
#include "shunt/peaks.h"

namespace shunt::cuda {

/// Measures a card with the instructions that its kernels use: loads of 16 bytes, dp4a, FMA. Times
/// are the host's, of work that takes some milliseconds at once.
class CudaPeakMeter final : public PeakMeter {
 public:
  /// All must outlive the meter.
  CudaPeakMeter(DeviceMemory& memory, Modules& modules, const CudaTarget& target)
      : memory_(memory), modules_(modules), target_(target) {}

  int threads() const override { return 1; }
  Result<PeakRate> measure(Peak peak, double seconds) override;

 private:
  /// Work that is submitted at once.
  struct Batch {
    std::uint64_t rounds = 0;  ///< of arithmetic
    int launches = 1;
  };
  struct Loop;
  static const Loop& loop_of(Peak peak);
  Result<PeakRate> measure(const Loop& loop, double seconds);
  /// Memory to read, with every byte 1.
  Status fill_memory();
  /// Seconds of a batch.
  Result<double> time(FunctionHandle function, const Batch& batch) const;
  unsigned blocks() const;

  DeviceMemory& memory_;
  Modules& modules_;
  const CudaTarget& target_;
  std::unique_ptr<Buffer> data_;  // that is read; null: not yet
};

}  // namespace shunt::cuda
