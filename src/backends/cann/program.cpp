#include "backends/cann/program.h"

#include <algorithm>
#include <bit>

#include "backend_support/node_launch.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

/// Sizes at which a program's calls are made ready. Workspaces do not grow with sizes, so the
/// largest sizes alone don't tell the largest workspace. Just below the maximum of a dimension,
/// operands have gaps, and are copied to temporaries of almost the greatest size.
std::vector<DynamicDimValues> sample_dims(const Graph& graph) {
  const auto& dims = graph.dynamic_dims();
  const auto sample = [&](auto value_of) {
    DynamicDimValues values = {};
    for (std::size_t i = 1; i < dims.size(); ++i) values[i] = value_of(i);
    return values;
  };
  std::vector<DynamicDimValues> samples;
  const auto add = [&](const DynamicDimValues& values) {
    if (std::ranges::find(samples, values) == samples.end()) samples.push_back(values);
  };
  add(sample([&](std::size_t i) { return dims[i].max; }));
  if (dims.size() <= 1) return samples;
  add(sample([&](std::size_t i) { return std::min<std::int64_t>(dims[i].max, 1); }));
  add(sample([&](std::size_t i) { return std::max<std::int64_t>(dims[i].max / 2, 1); }));
  for (std::size_t one = 1; one < dims.size(); ++one) {
    add(sample([&](std::size_t i) {
      return i == one ? std::min<std::int64_t>(dims[i].max, 1) : dims[i].max;
    }));
  }
  // Each choice of dimensions below their maximum, or each of many, and all.
  const std::size_t choices = std::size_t{1} << std::min<std::size_t>(dims.size() - 1, 16);
  for (std::size_t below = 1; below < choices; ++below) {
    constexpr std::size_t kMostDims = 3;
    if (dims.size() - 1 > kMostDims && !std::has_single_bit(below) && below != choices - 1)
      continue;
    add(sample([&](std::size_t i) {
      const bool is_below = (below >> (i - 1) & 1U) != 0 && dims[i].max > 1;
      return dims[i].max - (is_below ? 1 : 0);
    }));
  }
  return samples;
}

Status plan_calls(ProgramParts& parts) {
  for (const DynamicDimValues& dims : sample_dims(parts.graph)) {
    Calls calls(*parts.target.context, parts.plan);
    for (const PreparedNode& node : parts.nodes) {
      const NodeView view(parts.graph, node.id, parts.memory);
      const Operands operands(view, node.sources, node.result, &dims, {}, parts.writes);
      if (operands.is_empty()) continue;
      calls.begin(node.id);
      node.kernel->compute(calls, operands, parts.target);
      if (!calls.status())
        return Error(calls.status().error()).with_node(node.name).with_context(node.name);
    }
  }
  return ok();
}

class CannProgram final : public Program {
 public:
  CannProgram(std::shared_ptr<ProgramParts> parts, Needs needs, DeviceMemory& memory)
      : parts_(std::move(parts)), needs_(std::move(needs)), memory_(memory) {
    const CallPlan& plan = parts_->plan;
    needs_.scratch_bytes = plan.shared + plan.temporary + padded(plan.workspace);
  }
  const Needs& needs() const override { return needs_; }

  Result<std::unique_ptr<Binding>> bind(const Addresses& addresses) override {
    auto binding = std::make_unique<CannBinding>(parts_, memory_.context()->next_number());
    for (const Address& at : addresses.nodes)
      binding->addresses.push_back(at ? device_address(at) : nullptr);
    const CallPlan& plan = parts_->plan;
    CallMemory& memory = binding->memory;
    memory.shared = device_address(addresses.scratch);
    memory.temporary = memory.shared + plan.shared;
    memory.workspace = memory.temporary + plan.temporary;
    memory.workspace_bytes = plan.workspace;
    if (parts_->constants) memory.constants = parts_->constants->address();
    if (!plan.faults.empty()) {
      std::vector<std::string> names;
      names.reserve(plan.faults.size());
      for (const FaultText& fault : plan.faults)
        names.push_back(parts_->graph.describe(fault.node));
      SHUNT_ASSIGN(binding->faults,
                   FaultCounters::create(memory_.context(), plan.faults, std::move(names)));
      memory.faults = binding->faults->device();
    }
    return binding;
  }

 private:
  std::shared_ptr<ProgramParts> parts_;
  Needs needs_;
  DeviceMemory& memory_;
};

}  // namespace

Result<std::unique_ptr<Program>> prepare(const SegmentView& segment, const Table& table,
                                         const CannTarget& target, DeviceMemory& memory,
                                         std::span<const Pattern> patterns) {
  const Fusions fusions(segment, patterns, [](const Fused&) { return true; });
  auto parts = std::make_shared<ProgramParts>(ProgramParts{segment.graph, target, {}, {}, {}});
  parts->memory_kinds.assign(segment.memory.begin(), segment.memory.end());
  parts->memory = parts->memory_kinds;
  Needs needs;
  for (const NodeId id : segment.nodes) {
    const Node& node = segment.graph.node(id);
    if (node.writes_storage) parts->writes.push_back({node.storage, id});
  }
  for (const NodeId id : segment.nodes) {
    if (fusions.is_inside(id)) continue;
    PreparedNode node = {.id = id, .result = id, .sources = segment.graph.node(id).sources};
    if (const Fused* const fused = fusions.ending_at(id)) {
      node.id = fused->asked;
      node.sources = fused->sources;
      if (fused->written != kNoNode) node.sources.push_back(fused->written);
      node.kernel = fused->kernel;
      add_fused(segment.graph, *fused, needs);
    } else {
      SHUNT_ASSIGN(node.kernel, find_kernel(table, segment, id, target));
      add_in_place(segment.graph, id, node.kernel->in_place_source(), needs);
    }
    node.name = segment.graph.describe(node.id);
    parts->nodes.push_back(std::move(node));
  }
  SHUNT_TRY(plan_calls(*parts));
  const std::vector<float>& constants = parts->plan.constants;
  if (!constants.empty()) {
    const auto bytes = std::as_bytes(std::span(constants));
    SHUNT_ASSIGN(parts->constants, Allocation::create(memory.context(), bytes.size() + kTailBytes));
    SHUNT_TRY(memory.context()->call<&Symbols::memcpy>(
        static_cast<void*>(parts->constants->address()), bytes.size(),
        static_cast<const void*>(bytes.data()), bytes.size(), CopyKind::kToDevice));
  }
  return std::make_unique<CannProgram>(std::move(parts), std::move(needs), memory);
}

}  // namespace shunt::cann
