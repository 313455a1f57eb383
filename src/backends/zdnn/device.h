#pragma once

#include "backend_support/host_memory_type.h"
#include "backend_support/kernel_device.h"
#include "backend_support/vendor_library.h"
#include "backends/zdnn/program.h"
#include "backends/zdnn/weight_memory.h"

namespace shunt::zdnn {

/// The integrated accelerator of the chip, or a twin of it. It computes in host memory: it reads
/// the CPU's data in place, and the CPU reads its data in place. Its own are weights in its own
/// layout.
class ZdnnDevice final : public KernelDevice<ZdnnKernel> {
 public:
  /// `library`: that the machine calls, if the device is to keep it open.
  explicit ZdnnDevice(std::unique_ptr<Machine> machine,
                      std::shared_ptr<VendorLibrary> library = nullptr);
  std::string_view name() const override { return "zdnn0"; }
  DeviceInfo info() const override;
  const Machine& target() const override { return *machine_; }
  bool can_read(const BufferType& type) const override {
    return type.host_accessible() || &type == &weights_ || &type == &int8_weights_;
  }
  BufferType& memory() override { return memory_; }
  OwnMemory own_memory() const override { return {.workspace = constants_.bytes()}; }
  /// In the machine's layout, and as 8-bit numbers of quantised weights, where the machine
  /// multiplies with them (z17).
  std::vector<WeightCandidate> weight_forms(const Graph& graph, NodeId leaf) override;
  double largest_number(const Graph& graph, NodeId node) const override;
  double rounding_error(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override;
  std::string_view why_not_lossy() const override;
  std::optional<LossyCost> lossy_cost(const Address& at) const override;
  std::vector<DeviceWarning> warnings() const override { return ranges_.warnings(); }
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;

 protected:
  bool reads_packed(const ZdnnKernel& kernel, const NodeView& view, std::size_t s) const override {
    return kernel.takes_weight(view, s);
  }

 private:
  std::shared_ptr<VendorLibrary> library_;  // goes last
  std::unique_ptr<Machine> machine_;
  HostMemoryType memory_;
  WeightMemory weights_;
  WeightMemory int8_weights_;
  Constants constants_;
  RangeCounts ranges_{"DLFLOAT16"};
};

}  // namespace shunt::zdnn
