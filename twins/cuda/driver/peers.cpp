#include "cuda/call.h"

namespace cuda_twin {
namespace {

CUresult peer_of(Context& context, CUcontext handle, std::shared_ptr<Context>& peer) {
  if (handle == nullptr) return refuse(CUDA_ERROR_INVALID_CONTEXT, "the peer is null");
  CUDA_TWIN_TRY(context_of(handle, peer));
  if (peer.get() == &context) {
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "a context is no peer of its own");
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    std::shared_ptr<Context> found;
    if (flags != 0) return refuse(CUDA_ERROR_INVALID_VALUE, "flags must be 0");
    CUDA_TWIN_TRY(peer_of(context, peer, found));
    if (!are_peers(*context.device, *found->device)) {
      return refuse(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the devices are no peers");
    }
    const std::lock_guard lock(context.mutex);
    if (!context.peers.insert(found->id).second) {
      return refuse(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "access is enabled already");
    }
    context.peer_devices |= std::uint32_t{1} << found->device->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    std::shared_ptr<Context> found;
    CUDA_TWIN_TRY(peer_of(context, peer, found));
    const std::lock_guard lock(context.mutex);
    if (context.peers.erase(found->id) == 0) {
      return refuse(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "access is not enabled");
    }
    context.peer_devices &= ~(std::uint32_t{1} << found->device->ordinal);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
