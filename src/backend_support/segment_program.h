// A program that keeps its segment's nodes, for a device whose bindings do the rest.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// `B`: a binding that is made of the graph, the nodes and their addresses. The nodes live as long
/// as the program.
template <class B>
class SegmentProgram final : public Program {
 public:
  explicit SegmentProgram(const SegmentView& segment, Needs needs = {})
      : graph_(segment.graph),
        nodes_(segment.nodes.begin(), segment.nodes.end()),
        needs_(std::move(needs)) {}
  const Needs& needs() const override { return needs_; }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    return std::make_unique<B>(graph_, std::span<const NodeId>(nodes_), addresses);
  }

 private:
  const Graph& graph_;
  std::vector<NodeId> nodes_;
  Needs needs_;
};

}  // namespace shunt
