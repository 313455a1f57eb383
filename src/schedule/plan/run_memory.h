// Allocating the blocks of a plan.
#pragma once

#include <memory>
#include <vector>

#include "schedule/plan/compiled_plan.h"

namespace shunt {

/// By block; null for those that are not allocated here.
using BlockBuffers = std::vector<std::unique_ptr<Buffer>>;

/// The blocks that all steps share, or those of one step in flight. OutOfMemory names the device
/// and the bytes.
Result<BlockBuffers> allocate_shared_blocks(const CompiledPlan& executable);
Result<BlockBuffers> allocate_own_blocks(const CompiledPlan& executable);

}  // namespace shunt
