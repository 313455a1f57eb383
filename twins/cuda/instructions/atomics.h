// atom and red: handlers by operation and type, and the grammar (atomics.cpp).
#pragma once

#include <atomic>

#include "cuda/instructions/memory_forms.h"

namespace cuda_twin::CUDA_TWIN_LEVEL {

enum class AtomicOp : std::uint8_t { kAnd, kOr, kXor, kExch, kCas, kAdd, kInc, kDec, kMin, kMax };

/// args: d (absent for red), base, b, c (of cas). For vectors `more` has the elements of d, then
/// those of b. Null if the operation does not exist for the type.
Handler atomic_handler(AtomicOp operation, ptx::Type type);
Handler atomic_vector_handler(AtomicOp operation, ptx::Type type);

/// The lanes' places; the access is checked. False if the kernel ends.
bool atomic_spots(Warp& warp, const Op& op, LaneMask active, Spots& spots);

/// Replaces the value at `at` by f(value), in one step for all host threads. The value before.
template <class T, class F>
T exchange_atomically(std::byte* at, F f) {
  const std::atomic_ref<T> place(*reinterpret_cast<T*>(at));
  T before = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(before, f(before), std::memory_order_seq_cst)) {
  }
  return before;
}

}  // namespace cuda_twin::CUDA_TWIN_LEVEL
