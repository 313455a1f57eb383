// What a plan does in a step, in order, and what each of it must wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shunt/device.h"

namespace shunt {

/// Bytes that an action reads or writes. Those of memory that each step in flight has for itself
/// never meet those of another step.
struct Region {
  const Buffer* buffer = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool own = false;  ///< of one step in flight

  bool overlaps(const Region& other) const {
    return buffer == other.buffer && begin < other.end && other.begin < end;
  }
};

/// What an action touches, and the queue that it goes through.
struct Footprint {
  int stream = 0;
  std::vector<Region> reads;
  std::vector<Region> writes;
};

/// Actions whose events one must wait for, by index: of the same step, and of the step before.
struct Waits {
  std::vector<std::size_t> same_step;
  std::vector<std::size_t> step_before;
};

/// Finds for each action those on other streams that touch the same bytes, one of the two writing;
/// only the last of each stream, as a stream does its work in order. Between steps only memory that
/// they share counts.
std::vector<Waits> find_waits(std::span<const Footprint> actions);

}  // namespace shunt
