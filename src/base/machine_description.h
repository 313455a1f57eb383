// Which machine hwloc is to describe.
#pragma once

#include <string>

namespace shunt {

/// A made-up machine, in the words of hwloc; empty: this one. For tests.
struct MachineDescription {
  std::string synthetic;  ///< such as "package:2 l3:1 core:8 pu:2"
  std::string xml;        ///< an export of hwloc
  std::string root;       ///< this machine, with /sys looked for in this folder
};

}  // namespace shunt
