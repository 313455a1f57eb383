#include "cuda/program/liveness.h"

namespace cuda_twin {

Slots place(const Usage& usage) {
  Slots slots;
  for (const std::uint16_t bytes : usage.bytes) {
    if (bytes == 0) {
      slots.offset.push_back(slots.predicates++);
    } else {
      slots.offset.push_back(slots.register_bytes);
      slots.register_bytes += bytes * kLanes;
    }
  }
  return slots;
}

}  // namespace cuda_twin
