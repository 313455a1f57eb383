// The processors this process may use.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_cores.h"

namespace shunt {

struct CpuTopology {
  std::vector<CpuCore>
      cores;  ///< that the calling thread may run on, in the order of read_cpu_cores
  int quota =
      0;  ///< processors' worth of time that the control group allows, rounded up; 0: no limit
  std::string model;  ///< as the system calls the processor; may be empty

  int physical() const;  ///< cores, at least 1
  int logical() const;   ///< their hardware threads, at least 1
  /// The number of threads that can run at the same time: one per hardware thread, within the
  /// quota.
  int at_once() const;
  /// The useful number of threads: one per physical core, within the quota.
  int default_threads() const;
};

/// Reads the machine, affinity and the control group anew. Never fails: a value that can't be read
/// counts as 1 or no limit. For tests: `root` is put in front of /sys/fs/cgroup and /proc, and
/// `machine` takes the place of this one.
CpuTopology read_cpu_topology(const std::string& root = "", const MachineDescription& machine = {});

}  // namespace shunt
