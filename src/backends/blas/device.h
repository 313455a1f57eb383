#pragma once

#include "backend_support/host_device.h"
#include "backends/blas/kernel.h"

namespace shunt::blas {

/// A BLAS library as a device. It computes in host memory, on the threads of the CPU device.
class BlasDevice final : public HostDevice<Context, BlasKernel> {
 public:
  explicit BlasDevice(Context context);
  std::string_view name() const override { return "blas0"; }
  DeviceInfo info() const override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
};

}  // namespace shunt::blas
