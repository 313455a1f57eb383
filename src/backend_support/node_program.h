// A whole program for a backend that launches one kernel per node, on plain host memory. Such a
// backend writes kernels and a table of them; Device::prepare() calls prepare_nodes(), and its
// stream is a HostStream (host_binding.h).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend_support/host_binding.h"
#include "backend_support/node_launch.h"

namespace shunt {

/// One launch. Sizes are those of the run; no result is empty.
struct NodeCall {
  const Node& node;
  std::span<const HostTensor> sources;  ///< in the op's order; `data` is null where one is absent
  const HostTensor& result;
  std::byte* scratch = nullptr;  ///< Kernel::scratch() bytes, aligned as the device's memory
  const std::atomic<bool>* cancel = nullptr;  ///< of the run; may be null
  int threads = 0;                            ///< RunArgs::threads
};

/// A kernel of such a backend. `Context`: state that its launches share, such as the vendor's
/// functions or a pool of threads. `T`: the backend's target.
template <class Context, class T = NoTarget>
class NodeKernel : public Kernel<T> {
 public:
  /// Computes the node. The caller adds the node to an error.
  virtual Status launch(const NodeCall& call, Context& context) const = 0;
  /// The source whose memory the result may take, if it has the same type, shape and strides; -1:
  /// none.
  virtual int in_place_source() const { return -1; }
};

/// A node with the facts that its kernel states.
struct NodeWithKernel {
  NodeId node = 0;
  std::size_t scratch = 0;  ///< Kernel::scratch()
  int in_place_source = -1;
};

/// The program of prepare_nodes(). Scratch is as large as the largest of a node, as nodes run
/// one after the other.
class NodeProgram final : public Program {
 public:
  /// Launches the kernel of node number `index`.
  using Launch = std::function<Status(std::size_t index, const NodeCall& call)>;

  NodeProgram(const SegmentView& segment, std::vector<NodeWithKernel> nodes, Launch launch);
  const Needs& needs() const override { return needs_; }
  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override;

  const Graph& graph() const { return graph_; }
  std::span<const NodeWithKernel> nodes() const { return nodes_; }
  const Launch& launch() const { return launch_; }

 private:
  const Graph& graph_;
  std::vector<NodeWithKernel> nodes_;
  Launch launch_;
  Needs needs_;
};

/// Unsupported, with the node and the reason, if the table can't compute one of the nodes, or if
/// the host can't access a leaf. Table and context must outlive the program.
template <class Context, class K = NodeKernel<Context>>
Result<std::unique_ptr<Program>> prepare_nodes(const SegmentView& segment,
                                               const KernelTable<K>& table, Context& context,
                                               const typename K::Target& target = {}) {
  std::vector<NodeWithKernel> nodes;
  std::vector<const K*> kernels;
  for (const NodeId id : segment.nodes) {
    SHUNT_ASSIGN(const K* const kernel, find_kernel(table, segment, id, target));
    SHUNT_TRY(check_host_sources(segment, id));
    const NodeView view(segment.graph, id, segment.memory);
    nodes.push_back({id, kernel->scratch(view, target), kernel->in_place_source()});
    kernels.push_back(kernel);
  }
  return std::make_unique<NodeProgram>(
      segment, std::move(nodes),
      [&context, kernels = std::move(kernels)](std::size_t index, const NodeCall& call) {
        return kernels[index]->launch(call, context);
      });
}

}  // namespace shunt
