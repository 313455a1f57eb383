// The threads that devices on the CPU's cores compute with. Several devices of a registry share one
// pool: two would compete for the same cores, each waiting actively for work of its own.
#pragma once

#include <memory>

#include "backend_support/pool.h"
#include "base/cpu_topology.h"
#include "shunt/options.h"

namespace shunt {

struct CpuThreads {
  CpuTopology topology;
  std::unique_ptr<Pool> pool;
};

/// Invalid for a number that no CPU has; 0 is one a physical core.
Status check_threads(int threads);

/// Threads as the options want them. The backends of one registry (Options::shared) get the same
/// ones; devices of different registries run side by side. Without a registry they are new.
Result<std::shared_ptr<CpuThreads>> share_cpu_threads(const Options& options);

}  // namespace shunt
