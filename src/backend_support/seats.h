// Which core each thread of a pool is bound to.
#pragma once

#include <vector>

#include "base/cpu_topology.h"
#include "shunt/options.h"

namespace shunt {

/// By thread, the processors it is to stay on; empty if none is to be bound. The first place is
/// kept free for the thread that calls, which is the user's and is not bound.
std::vector<std::vector<int>> seats(const CpuTopology& topology, int threads, PinThreads pin);

}  // namespace shunt
