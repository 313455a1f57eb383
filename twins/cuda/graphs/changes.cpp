// Changes of one node's parameters.
#include "cuda/driver/pools.h"
#include "cuda/driver/state.h"
#include "cuda/graphs/update.h"

namespace cuda_twin {
namespace {

/// The kind of memory at an address: -1 of the host, else its device.
int place_of(std::uint64_t address, CopyWork::Side side) {
  if (side == CopyWork::Side::kHost) return -1;
  if (const ExtentPtr extent = driver().space->find(address)) {
    const bool on_host =
        extent->kind == MemoryKind::kPinned || extent->kind == MemoryKind::kRegistered;
    return on_host ? -1 : extent->device;
  }
  const std::shared_ptr<PoolAllocation> memory = pool_allocation_at(address);
  return memory == nullptr ? -1 : memory->pool->device->ordinal;
}

bool is_flat(const CopyWork& work) {
  return work.rows == 1 && work.planes == 1;
}

struct Changes {
  const Context* old_context;
  const Context* context;
  bool strict;
  const char*& reason;

  CUgraphExecUpdateResult no(CUgraphExecUpdateResult result, const char* why) const {
    reason = why;
    return result;
  }

  CUgraphExecUpdateResult operator()(const KernelWork& from, const KernelWork& to) const {
    if (old_context != context)
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE,
                "the function is of another context");
    if (from.cooperative != to.cooperative)
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
                "a launch cannot become cooperative, or stop being so");
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  CUgraphExecUpdateResult operator()(const CopyWork& from, const CopyWork& to) const {
    if (strict && (!is_flat(from) || !is_flat(to)))
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                "only copies with one dimension can be changed");
    if (place_of(from.from, from.from_side) != place_of(to.from, to.from_side) ||
        place_of(from.to, from.to_side) != place_of(to.to, to.to_side))
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                "the memory is of another kind or device");
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  CUgraphExecUpdateResult operator()(const FillWork& from, const FillWork& to) const {
    const bool flat = from.height == 1 && to.height == 1;
    const bool same_shape = from.width == to.width && from.height == to.height &&
                            from.pitch == to.pitch && from.element_bytes == to.element_bytes;
    if (!flat && !same_shape)
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                "the size of a fill with two dimensions cannot change");
    if (place_of(from.to, CopyWork::Side::kDevice) != place_of(to.to, CopyWork::Side::kDevice))
      return no(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
                "the memory is of another kind or device");
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  CUgraphExecUpdateResult operator()(const AllocateWork& from, const AllocateWork& to) const {
    return same_memory(from.memory == to.memory);
  }
  CUgraphExecUpdateResult operator()(const FreeWork& from, const FreeWork& to) const {
    return same_memory(from.memory == to.memory);
  }
  template <class From, class To>
  CUgraphExecUpdateResult operator()(const From&, const To&) const {
    return std::is_same_v<From, To>
               ? CU_GRAPH_EXEC_UPDATE_SUCCESS
               : no(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, "the type of a node changed");
  }

 private:
  CUgraphExecUpdateResult same_memory(bool same) const {
    return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                : no(CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED,
                     "a node that allocates or frees memory cannot change");
  }
};

}  // namespace

CUgraphExecUpdateResult check_change(const Step& step, const Work& work, const Context* context,
                                     bool strict, const char*& reason) {
  return std::visit(Changes{step.context.get(), context, strict, reason}, step.work, work);
}

}  // namespace cuda_twin
