// The host's high-bandwidth memory, where the machine has some ("cpu.memory").
#pragma once

#include "base/high_bandwidth_nodes.h"
#include "shunt/device.h"

namespace shunt::cpu {

/// Plain memory of these nodes. host_accessible().
class HighBandwidthMemory final : public BufferType {
 public:
  explicit HighBandwidthMemory(std::shared_ptr<const HighBandwidthNodes> nodes)
      : nodes_(std::move(nodes)) {}
  std::string_view name() const override { return "host, high bandwidth"; }
  std::size_t alignment() const override { return host_memory().alignment(); }
  bool host_accessible() const override { return true; }
  Result<std::unique_ptr<Buffer>> allocate(std::size_t bytes) override;
  const HighBandwidthNodes& nodes() const { return *nodes_; }

 private:
  std::shared_ptr<const HighBandwidthNodes> nodes_;
};

}  // namespace shunt::cpu
