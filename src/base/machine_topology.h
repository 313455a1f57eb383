// The machine as hwloc describes it.
#pragma once

#include <hwloc.h>

#include <memory>

#include "base/machine_description.h"

namespace shunt {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using MachineTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// Processors, cores, third caches and NUMA nodes; null if hwloc can't read the machine. `flags`
/// are hwloc's. Reading the parts that are not used here (devices, distances, all caches) would
/// take several times as long.
MachineTopology load_topology(const MachineDescription& machine, unsigned long flags = 0);

}  // namespace shunt
