// Predicting the memory of a plan before anything is allocated for it.
#pragma once

#include <memory>
#include <vector>

#include "shunt/plan.h"

namespace shunt {

/// The bytes that compile() allocates with the same arguments, by device. Only type and size of the
/// buffers in options.memory are used, so they may be promised memory (promised_memory.h). Fails as
/// compile() does, but allocates nothing through buffer types.
Result<std::vector<MemoryUse>> predict_memory(std::shared_ptr<const Graph> graph,
                                              Placement placement, const CompileOptions& options);

}  // namespace shunt
