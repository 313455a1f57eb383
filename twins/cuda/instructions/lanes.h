// Loops over the 32 lanes of a warp, which the compiler turns into vector code.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/instructions/level.h"
#include "cuda/machine/warp.h"
#include "cuda/program/op.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

/// The values of an operand, one a lane: T has 4 or 8 bytes. (These files are compiled with
/// -fno-strict-aliasing.)
template <class T>
[[gnu::always_inline]] inline T* lanes_of(Warp& warp, const Arg& arg) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return reinterpret_cast<T*>(warp.banks[static_cast<unsigned>(arg.bank)] + arg.offset);
}

[[gnu::always_inline]] inline LaneMask predicate_of(const Warp& warp, const Arg& arg) {
  const LaneMask bits = warp.predicates[arg.offset];
  return arg.flip ? ~bits : bits;
}

[[gnu::always_inline]] inline void set_predicate(Warp& warp, const Arg& arg, LaneMask bits,
                                                 LaneMask active) {
  if (arg.bank != Bank::kPredicates) return;
  LaneMask& at = warp.predicates[arg.offset];
  at = (at & ~active) | (bits & active);
}

/// to[i] = value(i) for the active lanes. `value` must be free of side effects: it is computed for
/// all lanes. It may read the lane of `to` that it is computed for.
template <class T, class Value>
[[gnu::always_inline]] inline void each_lane(T* to, LaneMask active, Value value) {
  if (active == kAllLanes) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (unsigned i = 0; i < kLanes; ++i) to[i] = value(i);
    return;
  }
  T all[kLanes];
  for (unsigned i = 0; i < kLanes; ++i) all[i] = value(i);
  for (unsigned i = 0; i < kLanes; ++i) to[i] = (active >> i & 1) != 0 ? all[i] : to[i];
}

/// A mask of the lanes for which `holds(i)`.
template <class Holds>
[[gnu::always_inline]] inline LaneMask lanes_where(Holds holds) {
  LaneMask mask = 0;
  for (unsigned i = 0; i < kLanes; ++i) mask |= static_cast<LaneMask>(holds(i)) << i;
  return mask;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
