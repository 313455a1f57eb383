// Which core each thread of a pool is bound to.
#pragma once

#include <vector>

#include "base/cpu_topology.h"
#include "shunt/options.h"

namespace shunt {

/// By thread, the processors that it is bound to; empty if no thread is bound. The first seat is
/// kept free for the calling thread, which belongs to the user and is not bound.
std::vector<std::vector<int>> seats(const CpuTopology& topology, int threads, PinThreads pin);

}  // namespace shunt
