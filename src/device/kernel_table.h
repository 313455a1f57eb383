// Kernel tables: per op one entry that declares the supported nodes and computes them, so that the
// two can't drift apart.
#pragma once

#include <array>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/op.h"
#include "shunt/device.h"

namespace shunt {

/// The node in a query to a kernel.
class NodeView {
 public:
  /// `memory` as SegmentView has it.
  NodeView(const Graph& graph, NodeId id, MemoryOfLeaves memory = {})
      : graph_(&graph), node_(&graph.node(id)), memory_(memory) {}
  const Graph& graph() const { return *graph_; }
  const Node& node() const { return *node_; }
  const Tensor& result() const { return node_->result; }
  bool has_source(std::size_t i) const {
    return i < node_->sources.size() && node_->sources[i] != kNoNode;
  }
  const Tensor& source(std::size_t i) const { return graph_->node(node_->sources[i]).result; }
  /// The kind of memory of a source that is a leaf, or a view of one; null if that is not known.
  const BufferType* source_memory(std::size_t i) const {
    return memory_.empty() ? nullptr : memory_[graph_->node(node_->sources[i]).storage];
  }
  /// The owner of a source's memory: the tensor that it is a view of, or itself.
  const Tensor& owner(std::size_t i) const {
    return graph_->node(graph_->node(node_->sources[i]).storage).result;
  }
  /// Whether a source is a view.
  bool is_view(std::size_t i) const {
    return graph_->node(node_->sources[i]).storage != node_->sources[i];
  }
  template <class P>
  const P& params() const {
    return node_->params.get<P>();
  }

 private:
  const Graph* graph_;
  const Node* node_;
  MemoryOfLeaves memory_;
};

/// The target of a backend whose kernels are the same on every machine.
struct NoTarget {};

/// One backend's implementation of one op. A backend derives its own interface from this, with a
/// function to launch. `T` is the backend's target: the facts that kernels need about the device's
/// machine (the chip, the version of the vendor's library, the vector level). A device has one.
template <class T = NoTarget>
class Kernel {
 public:
  using Target = T;
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual const Op& op() const = 0;
  virtual Support supports(const NodeView& node, const Target& target) const = 0;
  /// Bytes of device memory while it runs, at the dynamic dimensions' maximum.
  virtual std::size_t scratch(const NodeView&, const Target&) const { return 0; }
};

/// The kernels of a file: one of each type of `Each`, in that order. `K`: the backend's kernels.
template <class K, class... Each>
std::span<const K* const> list_kernels() {
  static const std::tuple<Each...> kernels;
  static const std::array<const K*, sizeof...(Each)> list = std::apply(
      [](const Each&... each) { return std::array<const K*, sizeof...(Each)>{&each...}; }, kernels);
  return list;
}

/// The kernels of a backend by op.
template <class K>
class KernelTable {
 public:
  /// `files`: functions that each give the kernels of one file.
  template <class Files>
  explicit KernelTable(const Files& files) {
    for (const auto& file : files) {
      for (const K* kernel : file()) kernels_.emplace(&kernel->op(), kernel);
    }
  }
  const K* find(const Op& op) const {
    const auto found = kernels_.find(&op);
    return found == kernels_.end() ? nullptr : found->second;
  }
  Support supports(const Graph& graph, NodeId id, const typename K::Target& target,
                   MemoryOfLeaves memory = {}) const {
    const Node& node = graph.node(id);
    // Leaves and views are not computed.
    if (node.is_leaf() || node.op->info().storage == Storage::kView) return Support::yes();
    const K* kernel = find(*node.op);
    if (kernel == nullptr) {
      return Support::no(Refusal::kOp, "no kernel for " + std::string(node.op->info().name));
    }
    return kernel->supports(NodeView(graph, id, memory), target);
  }

 private:
  std::unordered_map<const Op*, const K*> kernels_;
};

}  // namespace shunt
