#include "base/machine_topology.h"

#include <filesystem>

namespace shunt {

namespace {

/// Whether /sys has the files about processors that hwloc reads.
bool sysfs_has_processors(const std::string& root) {
  std::error_code error;
  std::filesystem::directory_iterator entry(root + "/sys/devices/system/cpu", error);
  for (const auto end = std::filesystem::directory_iterator(); !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with("cpu")) continue;
    for (const char* file : {"package_cpus", "core_cpus", "core_siblings", "thread_siblings"}) {
      std::error_code unreadable;
      if (std::filesystem::exists(entry->path() / "topology" / file, unreadable)) return true;
    }
  }
  return false;
}

}  // namespace

MachineTopology load_topology(const MachineDescription& machine, unsigned long flags) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  MachineTopology topology(raw);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);  // but processors, nodes
  for (hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE}) {
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  // The calling thread belongs to the user, so it is not moved over all cores to query each. That
  // would take milliseconds on busy cores.
  hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING | flags);
  const bool made_up = !machine.synthetic.empty() || !machine.xml.empty();
  if (!machine.synthetic.empty() &&
      hwloc_topology_set_synthetic(raw, machine.synthetic.c_str()) != 0) {
    return nullptr;
  }
  if (!machine.xml.empty() &&
      hwloc_topology_set_xmlbuffer(raw, machine.xml.c_str(),
                                   static_cast<int>(machine.xml.size()) + 1) != 0) {
    return nullptr;
  }
  // Without such files hwloc's reader for Linux prints a message and finds nothing. Its other
  // readers still find processors.
  if (!made_up && !sysfs_has_processors(machine.root) &&
      hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux") != 0) {
    return nullptr;
  }
  if (hwloc_topology_load(raw) != 0) return nullptr;
  // hwloc's own variables (HWLOC_XMLFILE) may describe another one.
  if (!made_up && hwloc_topology_is_thissystem(raw) == 0) return nullptr;
  return topology;
}

}  // namespace shunt
