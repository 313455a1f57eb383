// Where things that live for a while lie in one block of memory.
#pragma once

#include <cstddef>
#include <vector>

namespace shunt::zdnn {

/// Lives from one step to another, both included.
struct ScratchPiece {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t offset = 0;  ///< found by lay_out()
};

/// Gives each piece, in the order in which they begin to live, the lowest place that is free.
/// Offsets are multiples of what all sizes are multiples of. The bytes of the block.
std::size_t lay_out(std::vector<ScratchPiece>& pieces);

}  // namespace shunt::zdnn
