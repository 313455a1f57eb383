// The events that each action of a step must wait for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memory/hazards.h"

namespace shunt {

/// Actions whose events one must wait for, by index: of the same step, and of the step before.
struct Waits {
  std::vector<std::size_t> same_step = {};
  std::vector<std::size_t> step_before = {};
  /// Actions of the step before that must be submitted first, those of the same stream included: a
  /// stream does its work in the order of submission.
  std::size_t submitted_before = 0;
};

/// Finds for each action those on other streams that touch the same bytes, one of the two writing;
/// only the last of each stream, as a stream does its work in order. Between steps only memory that
/// they share counts.
std::vector<Waits> find_waits(std::span<const Footprint> actions);

}  // namespace shunt
