#include "backend_support/seats.h"

#include <algorithm>

namespace shunt {

namespace {

/// Threads that are bound can't make way for those of another program, and two programs that each
/// bind fewer threads than there are cores would meet on the same ones while others are idle. With
/// a thread for each core, none is kept from an idle core. A thread that moves loses time only if
/// there is more than one cache or node.
bool worth_it(const CpuTopology& topology, int threads) {
  const CpuCore& first = topology.cores.front();
  return threads == topology.physical() &&
         std::any_of(topology.cores.begin(), topology.cores.end(), [&](const CpuCore& core) {
           return core.node != first.node || core.cache != first.cache;
         });
}

}  // namespace

std::vector<std::vector<int>> seats(const CpuTopology& topology, int threads, PinThreads pin) {
  if (pin == PinThreads::kOff || threads < 2) return {};
  if (static_cast<std::size_t>(threads) > topology.cores.size()) return {};
  if (pin == PinThreads::kAuto && !worth_it(topology, threads)) return {};
  std::vector<std::vector<int>> seats;
  seats.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    seats.push_back(topology.cores[static_cast<std::size_t>(i)].processors);
  }
  return seats;
}

}  // namespace shunt
