// Placement: pins, rules, costs, and the rejected devices, one after the other.
#include <array>

#include "base/enum_table.h"
#include "graph/storage_users.h"
#include "schedule/place/by_costs.h"
#include "schedule/place/facts.h"
#include "schedule/place/pins.h"
#include "schedule/place/rules.h"
#include "shunt/message.h"
#include "shunt/plan.h"

namespace shunt {

std::string_view to_string(Rule rule) {
  static constexpr std::array<std::string_view, 11> kNames = {
      "pinned",        "memory",  "weights",     "input", "view", "neighbour",
      "shared memory", "sources", "last resort", "costs", "split"};
  return name_in(kNames, rule);
}

namespace {

/// Why a device that could have computed a node does not.
std::string_view why_not(Rule rule) {
  switch (rule) {
    case Rule::kPinned:
      return "supported, but the node is pinned";
    case Rule::kCosts:
      return "supported, but the step would take longer";
    default:
      return "supported, but its data are elsewhere";
  }
}

void note_rejected(const PlaceFacts& facts, std::vector<Decision>& decisions) {
  for (NodeId id = 0; id < decisions.size(); ++id) {
    if (!is_computed(facts.graph().node(id))) continue;
    Decision& decision = decisions[id];
    for (int index = 0; index < decision.device; ++index) {
      const Support& answer = facts.answer(id, index);
      if (decision.rule == Rule::kPinned && !answer) {  // dropping the pin would not help
        decision.rejected.push_back(
            {index, Refusal::kCost,
             fmt::format("the node is pinned, and this device refuses it: {}", answer.facts())});
      } else if (answer) {
        decision.rejected.push_back({index, Refusal::kCost, std::string(why_not(decision.rule))});
      } else {
        decision.rejected.push_back({index, answer.refusal(), answer.facts(),
                                     std::string(facts.answers().remedy(id, index))});
      }
    }
  }
}

}  // namespace

Result<Placement> place(const Graph& graph, std::span<Device* const> devices,
                        const PlaceOptions& options) {
  SHUNT_ASSIGN(PlaceFacts facts, PlaceFacts::create(graph, devices, options));
  SHUNT_ASSIGN(PinnedNodes pinned, pin_nodes(facts, options.pins));
  for (const PartHome& part : options.parts) {
    if (part.leaf < graph.size() && graph.node(part.leaf).is_leaf()) continue;
    return invalid("{} is not a part: it is not a leaf", graph.describe(part.leaf));
  }
  keep_to_pins(options.pins, pinned, facts);
  keep_parts(facts, options.parts, pinned);
  Placement placement;
  placement.devices.assign(devices.begin(), devices.end());
  SHUNT_ASSIGN(placement.decisions, place_by_rules(facts, pinned, options.stream_rows));
  if (options.costs != nullptr) {
    if (options.rules_only) {
      predict_costs(facts, pinned, *options.costs, placement);
    } else {
      place_by_costs(facts, pinned, *options.costs, options.searches, placement);
    }
  }
  placement.conversions = find_conversions(facts.answers(), graph, placement.decisions);
  note_rejected(facts, placement.decisions);
  placement.notes = std::move(pinned.notes);
  return placement;
}

}  // namespace shunt
