#pragma once

#include "backends/null/memory.h"
#include "backends/null/program.h"
#include "shunt/device.h"

namespace shunt::null {

/// A device that says "not supported" to everything: the skeleton of a backend, and a check that
/// the rest of Shunt gets along with a device that can't do anything. Used only when it is named.
class NullDevice final : public Device {
 public:
  NullDevice();
  std::string_view name() const override { return "null0"; }
  DeviceInfo info() const override;
  Support supports(const Graph& graph, NodeId node, MemoryOfLeaves memory) const override {
    return table_.supports(graph, node, target_, memory);
  }
  bool can_read(const BufferType& type) const override { return &type == &memory_; }
  BufferType& memory() override { return memory_; }
  Result<std::unique_ptr<Stream>> open_stream() override;
  Result<std::unique_ptr<Program>> prepare(const SegmentView& segment) override;

 private:
  NullMemory memory_;
  Table table_;
  NullTarget target_;
};

}  // namespace shunt::null
