// How many processors this process may use.
#pragma once

#include <string>

namespace shunt {

struct CpuTopology {
  int logical = 1;   ///< processors in this process's affinity mask
  int physical = 1;  ///< cores behind them
  int quota =
      0;  ///< processors' worth of time that the control group allows, rounded up; 0: no limit
  std::string model;  ///< as the system calls the processor; may be empty

  /// Threads worth having: one a physical core, within the quota.
  int default_threads() const;
};

/// Reads affinity, /sys and the control group (v1 and v2) anew. Never fails: what can't be read
/// counts as 1 or no limit. `root` is put in front of /sys and /proc, for tests.
CpuTopology read_cpu_topology(const std::string& root = "");

}  // namespace shunt
