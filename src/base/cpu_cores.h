// The physical cores of the machine, and the resources that they share.
#pragma once

#include <span>
#include <vector>

#include "base/machine_description.h"

namespace shunt {

/// A physical core that a thread may run on.
struct CpuCore {
  std::vector<int>
      processors;  ///< its hardware threads that may be used, as the system numbers them
  int node = 0;    ///< the NUMA node whose memory is near
  int cache = 0;   ///< cores with the same number share their third cache
  friend bool operator==(const CpuCore&, const CpuCore&) = default;
};

/// The cores that have one of `processors`, one NUMA node after the other, in it the faster kind of
/// core first, then one shared cache after the other. Where the machine can't be read each
/// processor counts as a core of node 0 and cache 0. Never fails.
std::vector<CpuCore> read_cpu_cores(std::span<const int> processors,
                                    const MachineDescription& machine = {});

}  // namespace shunt
