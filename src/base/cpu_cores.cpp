#include "base/cpu_cores.h"

#include <algorithm>
#include <tuple>

#include "base/machine_topology.h"

namespace shunt {

namespace {

/// How fast cores of this kind are, compared with the others; -1 if all are the same, or if
/// it is unknown.
int speed(hwloc_topology_t topology, hwloc_obj_t core) {
  const int kind = hwloc_cpukinds_get_by_cpuset(topology, core->cpuset, 0);
  int efficiency = -1;
  if (kind < 0 || hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr,
                                          &efficiency, nullptr, nullptr, 0) != 0) {
    return -1;
  }
  return efficiency;
}

int node_of(hwloc_topology_t topology, hwloc_obj_t processor) {
  if (processor->nodeset == nullptr) return 0;
  const int number = hwloc_bitmap_first(processor->nodeset);
  if (number < 0) return 0;
  hwloc_obj* const node =
      hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(number));
  return node == nullptr ? 0 : static_cast<int>(node->logical_index);
}

struct Found {
  CpuCore core;
  int speed = -1;
  hwloc_obj_t object = nullptr;
};

}  // namespace

std::vector<CpuCore> read_cpu_cores(std::span<const int> processors,
                                    const MachineDescription& machine) {
  std::vector<Found> found;
  if (const MachineTopology topology = load_topology(machine, HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS)) {
    // In hwloc's order neighbours share every resource that is shared at all.
    const int count = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PU);
    for (int i = 0; i < count; ++i) {
      hwloc_obj* const processor =
          hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PU, static_cast<unsigned>(i));
      const int number = static_cast<int>(processor->os_index);
      if (std::find(processors.begin(), processors.end(), number) == processors.end()) continue;
      hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, processor);
      if (core == nullptr) core = processor;  // some virtual machines don't report it
      if (found.empty() || found.back().object != core) {
        hwloc_obj* const cache =
            hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_L3CACHE, processor);
        const int shared = cache == nullptr ? 0 : static_cast<int>(cache->logical_index);
        found.push_back(
            {{{}, node_of(topology.get(), processor), shared}, speed(topology.get(), core), core});
      }
      found.back().core.processors.push_back(number);
    }
  }
  if (found.empty()) {
    for (int processor : processors) found.push_back({{{processor}, 0, 0}, -1, nullptr});
  }
  std::vector<std::size_t> order(found.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(found[a].core.node, -found[a].speed, a) <
           std::tuple(found[b].core.node, -found[b].speed, b);
  });
  std::vector<CpuCore> cores;
  cores.reserve(order.size());
  for (std::size_t i : order) cores.push_back(std::move(found[i].core));
  return cores;
}

}  // namespace shunt
