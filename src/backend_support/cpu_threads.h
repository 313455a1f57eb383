// The threads of devices that compute on the CPU's cores. The devices of a registry share one pool:
// two pools would compete for the same cores, and each would wait actively for work.
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

/// Invalid for a number outside 0 to kMaxThreads. 0 is one thread per physical core.
Status check_threads(int threads);

/// Threads as the options ask for. The backends of one registry (Options::shared) share them;
/// devices of different registries run side by side. Without a registry they are new.
Result<std::shared_ptr<CpuThreads>> share_cpu_threads(const Options& options);

}  // namespace shunt
