#include "schedule/actions.h"

#include <algorithm>

namespace shunt {

namespace {

bool meet(std::span<const Region> a, std::span<const Region> b, bool between_steps) {
  return std::any_of(a.begin(), a.end(), [&](const Region& x) {
    return std::any_of(b.begin(), b.end(), [&](const Region& y) {
      return x.overlaps(y) && !(between_steps && (x.own || y.own));
    });
  });
}

/// Whether the order of two actions matters.
bool conflict(const Footprint& a, const Footprint& b, bool between_steps) {
  return meet(a.writes, b.writes, between_steps) || meet(a.writes, b.reads, between_steps) ||
         meet(a.reads, b.writes, between_steps);
}

/// The last action of each other stream in [begin, end) that conflicts with `action`.
std::vector<std::size_t> last_conflicts(std::span<const Footprint> actions, std::size_t action,
                                        std::size_t begin, std::size_t end, bool between_steps) {
  std::vector<std::size_t> found;
  std::vector<int> streams = {actions[action].stream};
  for (std::size_t other = end; other-- > begin;) {
    if (std::find(streams.begin(), streams.end(), actions[other].stream) != streams.end()) continue;
    if (!conflict(actions[other], actions[action], between_steps)) continue;
    found.push_back(other);
    streams.push_back(actions[other].stream);
  }
  return found;
}

}  // namespace

std::vector<Waits> find_waits(std::span<const Footprint> actions) {
  std::vector<Waits> waits(actions.size());
  for (std::size_t i = 0; i < actions.size(); ++i) {
    waits[i].same_step = last_conflicts(actions, i, 0, i, false);
    // An action at or before this one in the step before is waited for by its successor in this
    // step.
    waits[i].step_before = last_conflicts(actions, i, i + 1, actions.size(), true);
  }
  return waits;
}

}  // namespace shunt
