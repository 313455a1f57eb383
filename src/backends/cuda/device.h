#pragma once

#include <memory>
#include <string>

#include "backend_support/device_health.h"
#include "backend_support/event_clock.h"
#include "backend_support/pinned_memory.h"
#include "backends/cuda/memory.h"
#include "backends/cuda/options.h"
#include "backends/cuda/program.h"
#include "shunt/device.h"

namespace shunt::cuda {

/// An NVIDIA GPU.
class CudaDevice final : public Device {
 public:
  /// Unsupported, with a reason for users, if the card is too old.
  static Result<std::unique_ptr<CudaDevice>> create(const std::shared_ptr<Driver>& driver,
                                                    DeviceNumber number, int ordinal,
                                                    const CudaOptions& options);
  /// Lets each of these devices copy directly from another one where both can do so. Call it once,
  /// before memory is allocated.
  static void connect(std::span<CudaDevice* const> devices);

  std::string_view name() const override { return info_.name; }
  DeviceInfo info() const override { return info_; }
  std::uint64_t memory_free() const override;
  OwnMemory own_memory() const override;
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return table_.supports(graph, node, target_, memory);
  }
  bool can_read(const BufferType& type) const override { return &type == &memory_; }
  BufferType& memory() override { return memory_; }
  bool can_copy_from(const BufferType& type) const override;
  BufferType* staging_memory() override { return has_staging_ ? &staging_ : nullptr; }
  Result<std::unique_ptr<Stream>> open_stream() override;
  LoadedKernels loaded_kernels() const override { return modules_.loaded(); }
  std::vector<DeviceWarning> warnings() const override { return staging_.warnings(); }
  bool has_transfer_queue() const override { return true; }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  Result<std::unique_ptr<PeakMeter>> open_peak_meter(int threads) override;
  /// Products of many columns are worth the transfer of their weights.
  bool offload_op(const Graph& graph, NodeId node) const override;

 private:
  CudaDevice(std::shared_ptr<Context> context, DeviceInfo info, const CudaTarget& target,
             MemoryKind memory, const CudaOptions& options);

  std::shared_ptr<Context> context_;
  DeviceInfo info_;
  CudaTarget target_;
  Table table_;
  DeviceMemory memory_;
  PinnedMemory staging_;
  bool has_staging_;
  Modules modules_;
  std::shared_ptr<EventClock> clock_;
  std::span<const Pattern> patterns_;     // of fused nodes
  std::vector<const BufferType*> peers_;  // memory that it copies from directly
};

}  // namespace shunt::cuda
