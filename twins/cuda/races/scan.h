// The comparison of one warp instruction's marks with those in cells. It is the same for
// shared and for global memory.
#pragma once

#include "cuda/races/cells.h"

namespace cuda_twin {

/// An access is ordered before this one if its mark is below `limit`, or equals the own one in the
/// bits of `who`, or equals `group` in the bits of `group_bits` and is below `group_limit`. Others
/// may be: that takes longer to find out.
struct Marks {
  Mark own = 0;  ///< of lane 0
  Mark limit = 0;
  Mark who = 0;
  Mark group = 0, group_bits = 0, group_limit = 0;

  bool ordered(Mark earlier) const {
    return earlier < limit || ((earlier ^ own) & who) == 0 ||
           (((earlier ^ group) & group_bits) == 0 && earlier < group_limit);
  }
};

}  // namespace cuda_twin
