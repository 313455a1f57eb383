#include "backends/zdnn/scratch_layout.h"

#include <algorithm>
#include <utility>

namespace shunt::zdnn {

std::size_t lay_out(std::vector<ScratchPiece>& pieces) {
  std::vector<ScratchPiece*> by_first;
  for (ScratchPiece& piece : pieces) by_first.push_back(&piece);
  std::ranges::sort(by_first, {}, [](const ScratchPiece* piece) {
    return std::pair(piece->first, piece);  // of the same, in their order
  });
  std::vector<const ScratchPiece*> live;  // by offset
  std::size_t total = 0;
  for (ScratchPiece* piece : by_first) {
    std::erase_if(live, [&](const ScratchPiece* other) { return other->last < piece->first; });
    std::size_t offset = 0;
    auto after = live.begin();
    for (; after != live.end() && offset + piece->bytes > (*after)->offset; ++after) {
      offset = std::max(offset, (*after)->offset + (*after)->bytes);
    }
    piece->offset = offset;
    total = std::max(total, offset + piece->bytes);
    live.insert(after, piece);
  }
  return total;
}

}  // namespace shunt::zdnn
