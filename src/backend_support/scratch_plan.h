// Scratch of a segment whose nodes run one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "memory/planner.h"

namespace shunt {

/// Where pieces lie in scratch, by number, and where staging starts.
struct ScratchLayout {
  std::vector<std::size_t> offsets;
  std::size_t staging = 0;
  std::size_t bytes = 0;  ///< of all
};

/// Pieces live from one node to another, and share memory by lifetime. Behind them is staging, as
/// large as the most that a node needs of it.
class ScratchPlan {
 public:
  /// A new piece of the node at hand. Returns its number.
  std::size_t add(std::size_t bytes) {
    pieces_.push_back({bytes, now_, now_});
    return pieces_.size() - 1;
  }
  /// The node at hand needs a piece.
  void use(std::size_t piece) { pieces_[piece].last = now_; }
  /// The node at hand needs bytes of staging.
  void stage(std::size_t bytes) { staging_ = std::max(staging_, bytes); }
  /// From here on the next node is at hand.
  void next() { ++now_; }
  /// All pieces, and the end of staging, at multiples of `alignment`.
  Result<ScratchLayout> lay_out(std::size_t alignment) const;

 private:
  std::int64_t now_ = 0;
  std::vector<MemoryRequest> pieces_;  // from node to node, both included
  std::size_t staging_ = 0;
};

}  // namespace shunt
