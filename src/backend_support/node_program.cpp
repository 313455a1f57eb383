#include "backend_support/node_program.h"

#include <algorithm>

namespace shunt {

namespace {

class NodeBinding final : public HostBinding {
 public:
  explicit NodeBinding(const NodeProgram& program) : program_(program) {}

  Status bind(const Addresses& addresses) {
    scratch_ = scratch_address(addresses);
    const Graph& graph = program_.graph();
    for (const NodeWithKernel& each : program_.nodes()) {
      const auto address = [&](NodeId of) {
        return host_address(graph, each.node, of, addresses.nodes[of]);
      };
      Call& call = calls_.emplace_back();
      for (const NodeId source : graph.node(each.node).sources) {
        call.data.push_back(nullptr);
        if (source == kNoNode) continue;
        SHUNT_ASSIGN(call.data.back(), address(source));
      }
      SHUNT_ASSIGN(call.result, address(each.node));
      call.sources.resize(call.data.size());
    }
    return ok();
  }

  Status run(const RunArgs& args) override {
    return run_node_by_node(
        program_.graph(), calls_.size(), args.cancel,
        [&](std::size_t i) { return program_.nodes()[i].node; },
        [&](std::size_t i) { return run_node(i, args); });
  }

 private:
  struct Call {
    std::vector<std::byte*> data = {};  // by source; null: it is absent
    std::byte* result = nullptr;
    std::vector<HostTensor> sources = {};  // of the run under way
  };

  Status run_node(std::size_t index, const RunArgs& args) {
    const Graph& graph = program_.graph();
    const NodeWithKernel& each = program_.nodes()[index];
    const Node& node = graph.node(each.node);
    Call& call = calls_[index];
    const HostTensor result = tensor_in_run(node.result, call.result, args.dynamic_dims);
    if (is_empty(result.sizes)) return ok();
    for (std::size_t s = 0; s < node.sources.size(); ++s) {
      if (call.data[s] == nullptr) continue;
      const Tensor& tensor = graph.node(node.sources[s]).result;
      call.sources[s] = tensor_in_run(tensor, call.data[s], args.dynamic_dims);
    }
    return program_.launch()(index,
                             {node, call.sources, result, scratch_, args.cancel, args.threads});
  }

  const NodeProgram& program_;
  std::vector<Call> calls_;  // by node of the segment
  std::byte* scratch_ = nullptr;
};

}  // namespace

NodeProgram::NodeProgram(const SegmentView& segment, std::vector<NodeWithKernel> nodes,
                         Launch launch)
    : graph_(segment.graph), nodes_(std::move(nodes)), launch_(std::move(launch)) {
  for (const NodeWithKernel& each : nodes_) {
    needs_.scratch_bytes = std::max(needs_.scratch_bytes, each.scratch);
    add_in_place(graph_, each.node, each.in_place_source, needs_);
  }
}

Result<std::unique_ptr<Binding>> NodeProgram::bind(const Addresses& addresses) {
  return bind_to<NodeBinding>(*this, addresses);
}

}  // namespace shunt
