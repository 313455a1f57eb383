#pragma once

#include "backends/zdnn/memory.h"
#include "backends/zdnn/program.h"
#include "shunt/device.h"
#include "shunt/lossy_weights.h"

namespace shunt::zdnn {

/// The integrated accelerator of the chip, or a twin of it. It computes in host memory: what the
/// CPU has it reads where it lies, and the other way round. Its own are weights in its own layout.
class ZdnnDevice final : public Device, public LossyWeights {
 public:
  explicit ZdnnDevice(std::unique_ptr<Machine> machine);
  DeviceInfo info() const override;
  Support supports(const Graph& graph, NodeId node) const override;
  bool can_read(const BufferType& type) const override {
    return type.host_accessible() || &type == &weights_ || &type == &int8_weights_;
  }
  BufferType& memory() override { return memory_; }
  /// In the machine's layout, if all that use it are products that it takes.
  BufferType* weight_memory(const Graph& graph, NodeId leaf) override;
  double largest_number() const override;
  double rounding_error(const Graph& graph, NodeId node) const override;
  /// 8-bit numbers, of quantised weights, where the machine multiplies with them (z17).
  BufferType* lossy_weight_memory(const Graph& graph, NodeId leaf) override;
  std::string_view why_not_lossy() const override;
  std::optional<LossyCost> lossy_cost(const Address& at) const override;
  double lossy_rounding_error(const Graph& graph, NodeId node) const override;
  std::vector<DeviceWarning> warnings() const override { return ranges_.warnings(); }
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;

 private:
  const ZdnnKernel* kernel_of(const Node& node) const;
  /// Null unless it can hold the weight, and all that use it are products that take it so.
  WeightMemory* memory_for(WeightMemory& memory, const Graph& graph, NodeId leaf) const;

  std::unique_ptr<Machine> machine_;
  Table table_;
  ZdnnMemory memory_;
  WeightMemory weights_;
  WeightMemory int8_weights_;
  Constants constants_;
  RangeCounts ranges_;
};

}  // namespace shunt::zdnn
