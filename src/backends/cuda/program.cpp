#include "backends/cuda/program.h"

#include <algorithm>

#include "backend_support/node_launch.h"
#include "backends/cuda/memory.h"
#include "base/ceil_div.h"

namespace shunt::cuda {

namespace {

struct PreparedNode {
  NodeId id = 0;      ///< the node that the kernel is asked for
  NodeId result = 0;  ///< the same, or the last one of nodes that are fused
  std::vector<NodeId> sources = {};
  const CudaKernel* kernel = nullptr;
  std::size_t scratch = 0;  ///< Kernel::scratch()
};

/// Scratch begins with the gpu::Run; that of a node follows. Nodes run one after the other.
constexpr std::size_t kRunBytes = 256;
static_assert(sizeof(gpu::Run) <= kRunBytes);

/// Blocks of a launch whose blocks walk over the items: at most 8 waves of the card. `wave`: blocks
/// that the card runs at once.
unsigned block_count(const LaunchPlan& plan, std::int64_t wave) {
  constexpr std::int64_t kWaves = 8;
  const std::int64_t wanted = ceil_div(plan.items, plan.per_block);
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, kWaves * wave));
}

class CudaProgram final : public Program {
 public:
  CudaProgram(const SegmentView& segment, std::vector<PreparedNode> nodes, Needs needs,
              Modules& modules, const CudaTarget& target)
      : graph_(segment.graph),
        nodes_(std::move(nodes)),
        modules_(modules),
        target_(target),
        needs_(std::move(needs)) {
    needs_.scratch_bytes = kRunBytes;
    auto names = std::make_shared<NodeNames>();
    for (const PreparedNode& node : nodes_) {
      names->emplace_back(node.id, graph_.describe(node.id));
      needs_.scratch_bytes = std::max(needs_.scratch_bytes, kRunBytes + node.scratch);
    }
    names_ = std::move(names);
  }
  const Needs& needs() const override { return needs_; }

  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    auto binding = std::make_unique<CudaBinding>();
    binding->run = device_address(addresses.scratch);
    binding->names = names_;
    for (const PreparedNode& node : nodes_) {
      const BoundNode bound(graph_, node.id, node.sources, node.result, addresses, binding->run,
                            binding->run + kRunBytes);
      for (LaunchPlan& launch : node.kernel->plan(bound))
        SHUNT_TRY(add(*binding, *node.kernel, std::move(launch)));
    }
    return binding;
  }

 private:
  Status add(CudaBinding& binding, const CudaKernel& kernel, LaunchPlan plan) {
    if (plan.items == 0) return ok();
    SHUNT_ASSIGN(FunctionHandle function,
                 modules_.find(plan.module.empty() ? kernel.module() : plan.module, target_.level,
                               plan.kernel));
    SHUNT_ASSIGN(const int at_once, modules_.blocks_at_once(function, plan.threads));
    const std::int64_t wave = std::int64_t{target_.multiprocessors} * at_once;
    binding.launches.push_back(
        {function, block_count(plan, wave), plan.threads, std::move(plan.parameters)});
    return ok();
  }

  const Graph& graph_;
  std::vector<PreparedNode> nodes_;
  Modules& modules_;
  const CudaTarget& target_;
  std::shared_ptr<const NodeNames> names_;
  Needs needs_;
};

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         Modules& modules, const CudaTarget& target,
                                         std::span<const Pattern> patterns) {
  const Fusions fusions(segment, patterns, [](const Fused&) { return true; });
  std::vector<PreparedNode> nodes;
  Needs needs;
  for (const NodeId id : segment.nodes) {
    if (fusions.is_inside(id)) continue;
    PreparedNode prepared = {.id = id, .result = id, .sources = segment.graph.node(id).sources};
    if (const Fused* const fused = fusions.ending_at(id)) {
      prepared.id = fused->asked;
      prepared.sources = fused->sources;
      if (fused->written != kNoNode) prepared.sources.push_back(fused->written);
      prepared.kernel = fused->kernel;
      add_fused(segment.graph, *fused, needs);
    } else {
      SHUNT_ASSIGN(prepared.kernel, find_kernel(table, segment, id, target));
    }
    const NodeView node(segment.graph, prepared.id, segment.memory);
    for (const std::string& module : prepared.kernel->modules(node))
      SHUNT_TRY(modules.load(module, target.level));
    prepared.scratch = prepared.kernel->scratch(node, target);
    nodes.push_back(std::move(prepared));
  }
  return std::make_unique<CudaProgram>(segment, std::move(nodes), std::move(needs), modules,
                                       target);
}

}  // namespace shunt::cuda
