#include "device/weight_choice.h"

#include <algorithm>
#include <map>

#include "graph/op.h"
#include "shunt/message.h"

namespace shunt {

namespace {

bool is_plain(const BufferType& memory) {
  return std::ranges::all_of(
      memory.layouts(), [](const Layout& layout) { return layout.kind == LayoutKind::kPlain; });
}

Status check_candidate(const Device& device, const Graph& graph, NodeId leaf,
                       const WeightCandidate& candidate) {
  const std::string name(device.name());
  if (candidate.memory == nullptr) {
    return fail(ErrorCode::kInternal, "{} offers a form of {} without memory", name,
                graph.describe(leaf))
        .with_device(name);
  }
  if (!device.can_read(*candidate.memory)) {
    return fail(ErrorCode::kInternal, "{} offers {} in {} memory, which it can't read", name,
                graph.describe(leaf), candidate.memory->name())
        .with_device(name);
  }
  if (!(candidate.cost >= 0)) {
    return fail(ErrorCode::kInternal, "{} offers {} in {} memory at a cost of {}", name,
                graph.describe(leaf), candidate.memory->name(), candidate.cost)
        .with_device(name);
  }
  return ok();
}

}  // namespace

Support taken_by_users(const Device& device, const Graph& graph, NodeId leaf,
                       const BufferType& memory) {
  std::vector<const BufferType*> kinds(graph.size(), nullptr);
  kinds[leaf] = &memory;
  bool used = false;
  for (NodeId id = leaf + 1; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    const bool uses = std::ranges::any_of(node.sources, [&](NodeId source) {
      return source != kNoNode && graph.node(source).storage == leaf;
    });
    if (!uses) continue;
    used = true;
    if (node.op->info().storage == Storage::kView) {
      if (is_plain(memory)) continue;
      return Support::no(Refusal::kLayout, graph.describe(id) + " is a view of it");
    }
    const Support answer = device.supports(graph, id, kinds);
    if (answer.refused()) {
      return Support::no(answer.refusal(), graph.describe(id) + ": " + answer.facts());
    }
  }
  return used ? Support::yes() : Support::no(Refusal::kOp, "nothing uses it");
}

Result<WeightChoice> choose_weight_form(Device& device, const Graph& graph, NodeId leaf,
                                        bool allow_lossy) {
  const std::vector<WeightCandidate> candidates = device.weight_forms(graph, leaf);
  std::multimap<double, const WeightCandidate*> by_cost;  // equal ones in the device's order
  for (const WeightCandidate& candidate : candidates) {
    SHUNT_TRY(check_candidate(device, graph, leaf, candidate));
    by_cost.emplace(candidate.cost, &candidate);
  }
  WeightChoice choice;
  for (const auto& [cost, offered] : by_cost) {
    const WeightCandidate& candidate = *offered;
    if (candidate.lossy && !allow_lossy) continue;
    const Support answer = taken_by_users(device, graph, leaf, *candidate.memory);
    if (!answer.refused()) {
      choice.memory = candidate.memory;
      choice.lossy = candidate.lossy;
      return choice;
    }
    choice.dropped.push_back(
        {candidate.memory, fmt::format("{} is not in {} memory ({}): {}", graph.describe(leaf),
                                       candidate.memory->name(), candidate.note, answer.facts())});
  }
  return choice;
}

}  // namespace shunt
