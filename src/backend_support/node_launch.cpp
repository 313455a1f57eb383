#include "backend_support/node_launch.h"

namespace shunt {

Status check_host_sources(const SegmentView& segment, NodeId id) {
  const Graph& graph = segment.graph;
  const NodeView view(graph, id, segment.memory);
  const std::vector<NodeId>& sources = view.node().sources;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const BufferType* const memory = view.has_source(s) ? view.source_memory(s) : nullptr;
    if (memory == nullptr || memory->host_accessible()) continue;
    return fail(ErrorCode::kUnsupported, "{}: {} is in {} memory, which it can't read",
                graph.describe(id), graph.describe(sources[s]), memory->name());
  }
  return ok();
}

Result<std::byte*> host_address(const Graph& graph, NodeId node, NodeId of, const Address& at) {
  std::byte* const data = at ? at.buffer->host_data() : nullptr;
  if (data != nullptr) return data + at.offset;
  return fail(ErrorCode::kInternal, "{}: {} has no address in host memory", graph.describe(node),
              graph.describe(of));
}

std::byte* scratch_address(const Addresses& addresses) {
  const Address& scratch = addresses.scratch;
  return scratch ? scratch.buffer->host_data() + scratch.offset : nullptr;
}

void add_in_place(const Graph& graph, NodeId id, int source, Needs& needs) {
  const NodeView view(graph, id);
  if (source < 0 || !view.has_source(static_cast<std::size_t>(source))) return;
  const Tensor& from = view.source(static_cast<std::size_t>(source));
  const Tensor& to = view.result();
  if (from.dtype != to.dtype || from.shape != to.shape || from.strides != to.strides) return;
  needs.in_place.push_back({id, source});
}

HostTensor tensor_in_run(const Tensor& tensor, std::byte* data,
                         const DynamicDimValues& dynamic_dims) {
  return {data, tensor.dtype, actual_sizes(tensor, dynamic_dims), tensor.strides};
}

}  // namespace shunt
