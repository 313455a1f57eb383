#pragma once

#include <string>

#include "backend_support/cpu_threads.h"
#include "backend_support/kernel_device.h"
#include "backends/cpu/memory.h"
#include "backends/cpu/program.h"
#include "backends/cpu/weight_memory.h"
#include "shunt/device.h"
#include "shunt/options.h"

namespace shunt::cpu {

/// The processor this process runs on, as one device. It supports everything.
class CpuDevice final : public KernelDevice<CpuKernel> {
 public:
  /// Invalid for a number of threads, or a vector level, that this machine can't have. For tests:
  /// `machine` has the NUMA nodes.
  static Result<std::unique_ptr<CpuDevice>> create(const Options& options,
                                                   const MachineDescription& machine = {});

  std::string_view name() const override { return "cpu0"; }
  DeviceInfo info() const override;
  /// The scratch of the threads, which the devices of a registry share.
  OwnMemory own_memory() const override;
  const CpuTarget& target() const override { return target_; }
  bool can_read(const BufferType& type) const override;
  /// Plain host memory, or high-bandwidth memory if that is asked for and there is some.
  BufferType& memory() override;
  /// Of matrices that are multiplied with: memory in huge pages, as files are not; interleaved, or
  /// plain.
  std::vector<WeightCandidate> weight_forms(const Graph& graph, NodeId leaf) override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  /// Invalid for more threads than a CPU may have.
  Result<std::unique_ptr<PeakMeter>> open_peak_meter(int threads) override;
  /// An option that this machine can't follow; empty: none.
  const std::string& note() const { return note_; }

 protected:
  bool reads_packed(const CpuKernel& kernel, const NodeView&, std::size_t source) const override {
    return kernel.reads_interleaved(source);
  }
  bool reads_plain_in(const PackedMemory&) const override { return true; }

 private:
  CpuDevice(std::shared_ptr<CpuThreads> threads, const CpuTarget& target, bool fuse,
            std::shared_ptr<const HighBandwidthNodes> nodes);

  CpuTarget target_;
  std::span<const Pattern> patterns_;  // of fused nodes
  std::shared_ptr<CpuThreads> threads_;
  std::unique_ptr<HighBandwidthMemory> high_bandwidth_;  // null: plain memory
  InterleavedMemory interleaved_;
  std::string note_;
};

}  // namespace shunt::cpu
