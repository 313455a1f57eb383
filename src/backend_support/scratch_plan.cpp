#include "backend_support/scratch_plan.h"

#include <limits>

namespace shunt {

Result<ScratchLayout> ScratchPlan::lay_out(std::size_t alignment) const {
  constexpr std::size_t kOneBlock = std::numeric_limits<std::size_t>::max();
  SHUNT_ASSIGN(const MemoryLayout layout, plan_memory(pieces_, alignment, kOneBlock));
  ScratchLayout made;
  for (const MemoryPlace& place : layout.places) made.offsets.push_back(place.offset);
  made.staging = layout.total();
  made.bytes = made.staging + (staging_ + alignment - 1) / alignment * alignment;
  return made;
}

}  // namespace shunt
