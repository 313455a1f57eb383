#include "engine/load/step_set.h"

#include <algorithm>
#include <tuple>

namespace shunt {

bool PlacementKey::operator==(const PlacementKey& other) const {
  const auto all = [](const PlacementKey& key) {
    return std::tie(key.graph, key.devices, key.memory, key.stream_bytes, key.parts,
                    key.policy.pins, key.policy.costs, key.policy.rules_only,
                    key.policy.stream_rows, key.policy.transcode);
  };
  return all(*this) == all(other);
}

namespace {

/// A load needs placements of prefill and decode, by the rules and at their homes, and with
/// unlimited memory as well if memory is short.
constexpr std::size_t kKept = 8;

}  // namespace

template <class Entry, class Match>
const Entry* StepSet::find(std::list<Entry>& known, const Match& match) {
  const auto found = std::ranges::find_if(known, match);
  if (found == known.end()) return nullptr;
  known.splice(known.begin(), known, found);
  return &known.front();
}

template <class Entry>
void StepSet::keep(std::list<Entry>& known, Entry entry) {
  known.push_front(std::move(entry));
  if (known.size() > kKept) known.pop_back();
}

Result<std::shared_ptr<const StepGraph>> StepSet::graph(
    const std::shared_ptr<const ModelDefinition>& definition, const StepShape& shape) {
  const auto is_wanted = [&](const Built& each) {
    return each.definition == definition && each.shape == shape;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Built* const known = find(built_, is_wanted)) return known->step;
  }
  SHUNT_ASSIGN(StepGraph made, definition->build(shape));
  auto step = std::make_shared<const StepGraph>(std::move(made));
  const std::lock_guard lock(mutex_);
  // Another thread may have added it first: its graph is the key of placements then.
  if (const Built* const known = find(built_, is_wanted)) return known->step;
  ++graphs_made_;
  keep(built_, Built{definition, shape, step});
  return step;
}

Result<std::shared_ptr<const StepGraph>> StepSet::with_types(
    const std::shared_ptr<const StepGraph>& step, std::span<const LeafType> types) {
  if (types.empty()) return step;
  const auto is_wanted = [&](const Typed& each) {
    return each.of == step && std::ranges::equal(each.types, types);
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Typed* const known = find(typed_, is_wanted)) return known->step;
  }
  StepGraph other = *step;
  SHUNT_ASSIGN(other.graph, shunt::with_types(step->graph, types));
  auto typed = std::make_shared<const StepGraph>(std::move(other));
  const std::lock_guard lock(mutex_);
  if (const Typed* const known = find(typed_, is_wanted)) return known->step;
  ++graphs_made_;
  keep(typed_, Typed{step, {types.begin(), types.end()}, typed});
  return typed;
}

Result<Placement> StepSet::placement(PlacementKey key,
                                     const std::function<Result<Placement>()>& place) {
  const auto is_wanted = [&](const Placed& each) { return each.key == key; };
  {
    const std::lock_guard lock(mutex_);
    if (const Placed* const known = find(placed_, is_wanted)) return known->placement;
  }
  SHUNT_ASSIGN(Placement made, place());
  const std::lock_guard lock(mutex_);
  if (const Placed* const known = find(placed_, is_wanted)) return known->placement;
  ++placements_made_;
  keep(placed_, Placed{std::move(key), made});
  return made;
}

std::size_t StepSet::graphs_made() const {
  const std::lock_guard lock(mutex_);
  return graphs_made_;
}

std::size_t StepSet::placements_made() const {
  const std::lock_guard lock(mutex_);
  return placements_made_;
}

}  // namespace shunt
