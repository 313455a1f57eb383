// Parts of a backend that launches kernels node by node on the host: a kernel for each node,
// addresses in host memory, and the loop of a run.
#pragma once

#include "backend_support/host_tensor.h"
#include "device/kernel_table.h"
#include "shunt/message.h"

namespace shunt {

/// The kernel that computes a node of a segment. Unsupported, with the kernel's reason, if there is
/// none.
template <class K>
Result<const K*> find_kernel(const KernelTable<K>& table, const SegmentView& segment, NodeId id,
                             const typename K::Target& target = {}) {
  const Node& node = segment.graph.node(id);
  const K* const kernel = table.find(*node.op);
  const Support answer =
      kernel == nullptr ? Support::no(Refusal::kOp, "there is no kernel for it")
                        : kernel->supports(NodeView(segment.graph, id, segment.memory), target);
  if (answer) return kernel;
  return fail(ErrorCode::kUnsupported, "{}: {}", segment.graph.describe(id), answer.facts());
}

/// Unsupported if a source of a node is a leaf in memory that the host can't access; an error names
/// that memory.
Status check_host_sources(const SegmentView& segment, NodeId id);

/// The address in host memory of `of`, which `node` reads or writes. Internal, with both names, if
/// the host can't access it.
Result<std::byte*> host_address(const Graph& graph, NodeId node, NodeId of, const Address& at);

/// The address of scratch in host memory; null if there is none.
std::byte* scratch_address(const Addresses& addresses);

/// Adds that a result may take the memory of a source, if that has the same type, shape and
/// strides. `source` -1: there is none.
void add_in_place(const Graph& graph, NodeId id, int source, Needs& needs);

/// A tensor with the sizes of a run. `data` is its first byte.
HostTensor tensor_in_run(const Tensor& tensor, std::byte* data,
                         const DynamicDimValues& dynamic_dims);

/// Calls run(index) for 0 to count - 1. Stops before the next node once the run is cancelled, and
/// at the first error, which then names node_of(index).
template <class NodeOf, class Run>
Status run_node_by_node(const Graph& graph, std::size_t count, const std::atomic<bool>* cancel,
                        NodeOf node_of, Run run) {
  for (std::size_t i = 0; i < count; ++i) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) {
      return fail(ErrorCode::kCancelled, "cancelled");
    }
    Status status = run(i);
    if (status) continue;
    const std::string node = graph.describe(node_of(i));
    return std::move(status.error()).with_node(node).with_context(node);
  }
  return ok();
}

}  // namespace shunt
