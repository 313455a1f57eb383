// Machines with two kinds of memory, in the words of hwloc.
#pragma once

#include <string>
#include <vector>

#include "base/machine_description.h"

namespace shunt::test {

/// One package of two cores with a NUMA node per entry: its subtype, and its bandwidth if above 0.
struct NumaNode {
  std::string subtype = {};
  int bandwidth = 0;
};

inline MachineDescription machine_with(const std::vector<NumaNode>& nodes) {
  int id = 0;
  const std::string sets = std::to_string((1 << nodes.size()) - 1);
  const auto object = [&](const std::string& type, std::size_t index, const std::string& cpus,
                          const std::string& set, const std::string& inside,
                          const std::string& more = "") {
    return "<object type=\"" + type + "\" os_index=\"" + std::to_string(index) + "\" cpuset=\"0x" +
           cpus + "\" complete_cpuset=\"0x" + cpus + "\" nodeset=\"0x" + set +
           "\" complete_nodeset=\"0x" + set + "\" gp_index=\"" + std::to_string(++id) + "\"" +
           more + ">" + inside + "</object>\n";
  };
  std::string inside;
  std::string values;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string subtype =
        nodes[i].subtype.empty() ? "" : " subtype=\"" + nodes[i].subtype + "\"";
    inside += object("NUMANode", i, "3", std::to_string(1 << i), "",
                     " local_memory=\"1073741824\"" + subtype);
    if (nodes[i].bandwidth == 0) continue;
    values += "<memattr_value target_obj_type=\"NUMANode\" target_obj_gp_index=\"" +
              std::to_string(id) + "\" value=\"" + std::to_string(nodes[i].bandwidth) +
              "\" initiator_cpuset=\"0x3\"/>\n";
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string cpu = std::to_string(1 << i);
    inside += object("Core", i, cpu, sets, object("PU", i, cpu, sets, ""));
  }
  const std::string machine = object("Machine", 0, "3", sets, inside,
                                     " allowed_cpuset=\"0x3\" allowed_nodeset=\"0x" + sets + "\"");
  return {.synthetic = "",
          .xml =
              "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n" +
              machine + "<memattr name=\"Bandwidth\" flags=\"5\">\n" + values +
              "</memattr>\n</topology>\n",
          .root = ""};
}

}  // namespace shunt::test
