// Scratch of a segment whose nodes run one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "memory/planner.h"

namespace shunt {

/// The offsets of pieces in scratch, by number, and of staging.
struct ScratchLayout {
  std::vector<std::size_t> offsets;
  std::size_t staging = 0;
  std::size_t bytes = 0;  ///< of all
};

/// Pieces live from one node to another, and share memory by lifetime. After them comes staging,
/// with the size of the largest need of a node.
class ScratchPlan {
 public:
  /// Adds a piece of the current node. Returns its number.
  std::size_t add(std::size_t bytes) {
    pieces_.push_back({bytes, now_, now_});
    return pieces_.size() - 1;
  }
  /// The current node needs a piece.
  void use(std::size_t piece) { pieces_[piece].last = now_; }
  /// The current node needs bytes of staging.
  void stage(std::size_t bytes) { staging_ = std::max(staging_, bytes); }
  /// The next node becomes the current one.
  void next() { ++now_; }
  /// All pieces, and the end of staging, at multiples of `alignment`.
  Result<ScratchLayout> lay_out(std::size_t alignment) const;

 private:
  std::int64_t now_ = 0;
  std::vector<MemoryRequest> pieces_;  // from node to node, both included
  std::size_t staging_ = 0;
};

}  // namespace shunt
