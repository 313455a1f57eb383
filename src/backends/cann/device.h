#pragma once

#include <memory>
#include <string>

#include "backend_support/event_clock.h"
#include "backend_support/pinned_memory.h"
#include "backends/cann/fractal_memory.h"
#include "backends/cann/options.h"
#include "backends/cann/program.h"
#include "backends/cann/weight_memory.h"
#include "shunt/device.h"

namespace shunt::cann {

/// An Ascend NPU.
class CannDevice final : public Device {
 public:
  static Result<std::unique_ptr<CannDevice>> create(const std::shared_ptr<Runtime>& runtime,
                                                    int ordinal, const CannOptions& options);

  /// Lets each of these devices copy directly from another one where both can do so. Call it once.
  static void connect(std::span<CannDevice* const> devices);

  std::string_view name() const override { return info_.name; }
  DeviceInfo info() const override { return info_; }
  /// A feature that could not be set up; empty if there is none.
  const std::string& note() const { return note_; }
  std::uint64_t memory_free() const override;
  OwnMemory own_memory() const override { return {.workspace = context_->own_bytes()}; }
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override;
  bool can_read(const BufferType& type) const override {
    return &type == &memory_ || &type == &weights_ || &type == &fractals_;
  }
  bool can_copy_from(const BufferType& type) const override;
  BufferType& memory() override { return memory_; }
  std::vector<WeightCandidate> weight_forms(const Graph& graph, NodeId leaf) override;
  BufferType* staging_memory() override { return has_staging_ ? &staging_ : nullptr; }
  double rounding_error(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override;
  double largest_number(const Graph& graph, NodeId node) const override;
  std::vector<DeviceWarning> warnings() const override { return staging_.warnings(); }
  Result<std::unique_ptr<Stream>> open_stream() override;
  bool has_transfer_queue() const override { return true; }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  /// Products of many columns are worth the transfer of their weights.
  bool offload_op(const Graph& graph, NodeId node) const override;

 private:
  CannDevice(std::shared_ptr<DeviceContext> context, DeviceInfo info, const CannOptions& options);
  const CannKernel* kernel_of(const Graph& graph, NodeId node) const;

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<EventClock> clock_;  // null: events have no times
  DeviceInfo info_;
  std::string note_;
  CannOptions options_;
  CannTarget target_;
  Table table_;
  DeviceMemory memory_;
  WeightMemory weights_;
  FractalMemory fractals_;
  PinnedMemory staging_;
  bool has_staging_;
  std::vector<const BufferType*> peers_;  // memory that it copies from directly
};

}  // namespace shunt::cann
