// Laying out memory as an allocator would that sees requests come and go.
#pragma once

#include "memory/problem.h"

namespace shunt {

enum class SweepDirection { kForward, kBackward };

/// Each item goes into the smallest hole that is free when it comes. n log n for n items, however
/// many live at the same time.
MemoryAttempt sweep_memory(const MemoryProblem& problem, SweepDirection direction);

}  // namespace shunt
