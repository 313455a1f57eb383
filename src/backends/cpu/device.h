#pragma once

#include "backends/cpu/program.h"
#include "shunt/device.h"
#include "shunt/options.h"

namespace shunt::cpu {

/// The processor this process runs on, as one device. It supports everything.
class CpuDevice final : public Device {
 public:
  /// Invalid if options.threads or options.cpu_level make no sense here.
  static Result<std::unique_ptr<CpuDevice>> create(const Options& options);

  DeviceInfo info() const override;
  Support supports(const Graph& graph, NodeId node) const override {
    return table_.supports(graph, node);
  }
  bool can_read(const BufferType& type) const override;
  BufferType& memory() override { return host_memory(); }
  /// Of its own, where matrices are multiplied with it: in huge pages, as files are not, and
  /// interleaved if all that use it can read that.
  BufferType* weight_memory(const Graph& graph, NodeId leaf) override;
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;
  /// Invalid for more threads than a CPU may have.
  Result<std::unique_ptr<PeakMeter>> open_peak_meter(int threads) override;

 private:
  CpuDevice(std::unique_ptr<Pool> pool, std::string model, bool fuse);

  Table table_;
  std::span<const Pattern> patterns_;  // of what is fused
  std::unique_ptr<Pool> pool_;
  std::string model_;
};

}  // namespace shunt::cpu
