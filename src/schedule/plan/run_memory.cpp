#include "schedule/plan/run_memory.h"

#include <algorithm>

#include "schedule/plan/plan_errors.h"

namespace shunt {

namespace {

Result<BlockBuffers> allocate_blocks(const CompiledPlan& executable, bool own) {
  BlockBuffers buffers;
  for (const PlanBlock& block : executable.layout().blocks) {
    std::unique_ptr<Buffer>& buffer = buffers.emplace_back();
    if (block.own != own) continue;
    auto allocated = block.type->allocate(block.bytes);
    if (!allocated) {
      return in_device(std::move(allocated.error()).with_context(block.wanted),
                       executable.devices(), block.refused_by);
    }
    buffer = std::move(*allocated);
    if (block.inputs) std::fill_n(buffer->host_data(), block.bytes, std::byte{0});
  }
  return buffers;
}

}  // namespace

Result<BlockBuffers> allocate_shared_blocks(const CompiledPlan& executable) {
  return allocate_blocks(executable, false);
}

Result<BlockBuffers> allocate_own_blocks(const CompiledPlan& executable) {
  return allocate_blocks(executable, true);
}

}  // namespace shunt
