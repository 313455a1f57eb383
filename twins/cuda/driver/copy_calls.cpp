// cuMemcpy and its kin.
#include "cuda/call.h"
#include "cuda/driver/copies.h"
#include "cuda/driver/host_access.h"
#include "cuda/graphs/capture.h"
#include "cuda/memory/hex.h"
#include "cuda/settings.h"

namespace cuda_twin {
namespace {

using Side = CopyWork::Side;

CUresult check(const CopyWork& work) {
  CUDA_TWIN_TRY(check_copy(work));
  if (fault_is_due(Setting::kFailCopy)) return refuse(CUDA_ERROR_UNKNOWN, "CUDA_TWIN_FAIL_COPY");
  return CUDA_SUCCESS;
}

CUresult refuse_unmapped(std::uint64_t side, std::uint64_t pitch, std::uint64_t plane_bytes,
                         const CopyWork& work, const char* name) {
  if (work.row_bytes == 0) return CUDA_SUCCESS;
  for (std::uint64_t plane = 0; plane < work.planes; ++plane) {
    for (std::uint64_t row = 0; row < work.rows; ++row) {
      const std::uint64_t at = side + plane * plane_bytes + row * pitch;
      if (is_host_memory(at, work.row_bytes)) continue;
      return refuse(CUDA_ERROR_INVALID_VALUE,
                    std::string(name) + " is no memory of the host: " + in_hex(at));
    }
  }
  return CUDA_SUCCESS;
}

/// Of a copy that the call waits for. Whether the memory is protected shows when it is made.
CUresult check_pageable(const CopyWork& work) {
  if (from_pageable(work)) {
    CUDA_TWIN_TRY(refuse_unmapped(work.from, work.from_pitch, work.from_plane, work, "the source"));
  }
  if (!to_pageable(work)) return CUDA_SUCCESS;
  return refuse_unmapped(work.to, work.to_pitch, work.to_plane, work, "the destination");
}

/// In the default stream; the call returns when the bytes are there.
CUresult copy_now(Context& context, CopyWork work) {
  const std::shared_ptr<Stream> stream = default_stream(context);
  CUDA_TWIN_TRY(refuse_synchronize(*stream));
  CUDA_TWIN_TRY(check(work));
  CUDA_TWIN_TRY(check_pageable(work));
  return submit_and_wait(context, *stream, std::move(work));
}

/// Pageable memory is copied to a staging buffer before the call returns.
CUresult stage(CopyWork& work) {
  auto bytes = std::make_shared<std::vector<std::byte>>(work.row_bytes * work.rows * work.planes);
  std::uint64_t at = 0;
  for (std::uint64_t plane = 0; plane < work.planes; ++plane) {
    for (std::uint64_t row = 0; row < work.rows; ++row, at += work.row_bytes) {
      const std::uint64_t from = work.from + plane * work.from_plane + row * work.from_pitch;
      if (!read_host(bytes->data() + at, from, work.row_bytes)) {
        return refuse(CUDA_ERROR_INVALID_VALUE, "the source is no memory of the host");
      }
    }
  }
  work.staged = std::move(bytes);
  return CUDA_SUCCESS;
}

CUresult copy_later(Context& context, Stream& stream, CopyWork work) {
  CUDA_TWIN_TRY(check(work));
  if (is_capturing(stream)) return submit(stream, std::move(work));
  // A copy to pageable memory returns when it is done, as the vendor documents.
  if (to_pageable(work)) {
    CUDA_TWIN_TRY(check_pageable(work));
    return submit_and_wait(context, stream, std::move(work));
  }
  if (from_pageable(work)) CUDA_TWIN_TRY(stage(work));
  return submit(stream, std::move(work));
}

CUresult peer_copy(CUcontext to, CUcontext from) {
  std::shared_ptr<Context> found;
  CUDA_TWIN_TRY(context_of(to, found));
  return context_of(from, found);
}

std::uint64_t address_of(const void* host) {
  return reinterpret_cast<std::uint64_t>(host);
}

template <class Copy>
CUresult copy_structure_now(Context& context, const Copy* copy) {
  CopyWork work;
  CUDA_TWIN_TRY(copy_of(copy, work));
  return copy_now(context, std::move(work));
}

template <class Copy>
CUresult copy_structure_later(Context& context, Stream& stream, const Copy* copy) {
  CopyWork work;
  CUDA_TWIN_TRY(copy_of(copy, work));
  return copy_later(context, stream, std::move(work));
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
    return copy_now(context, flat_copy(to, Side::kAny, from, Side::kAny, bytes));
  });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_later(context, found, flat_copy(to, Side::kAny, from, Side::kAny, bytes));
  });
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
    return copy_now(context, flat_copy(to, Side::kDevice, address_of(from), Side::kHost, bytes));
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_later(context, found,
                      flat_copy(to, Side::kDevice, address_of(from), Side::kHost, bytes));
  });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
    return copy_now(context, flat_copy(address_of(to), Side::kHost, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_later(context, found,
                      flat_copy(address_of(to), Side::kHost, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return call_in_context(__func__, [&](Context& context) {
    return copy_now(context, flat_copy(to, Side::kDevice, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_later(context, found, flat_copy(to, Side::kDevice, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                      size_t bytes) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    CUDA_TWIN_TRY(peer_copy(toContext, fromContext));
    return copy_now(context, flat_copy(to, Side::kDevice, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                           CUcontext fromContext, size_t bytes, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) -> CUresult {
    CUDA_TWIN_TRY(peer_copy(toContext, fromContext));
    return copy_later(context, found, flat_copy(to, Side::kDevice, from, Side::kDevice, bytes));
  });
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* copy) {
  return call_in_context(__func__,
                         [&](Context& context) { return copy_structure_now(context, copy); });
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* copy) {
  return call_in_context(__func__,
                         [&](Context& context) { return copy_structure_now(context, copy); });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_structure_later(context, found, copy);
  });
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  return call_in_context(__func__,
                         [&](Context& context) { return copy_structure_now(context, copy); });
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) {
    return copy_structure_later(context, found, copy);
  });
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  return call_in_context(__func__, [&](Context& context) -> CUresult {
    if (copy != nullptr) CUDA_TWIN_TRY(peer_copy(copy->dstContext, copy->srcContext));
    return copy_structure_now(context, copy);
  });
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return call_in_stream(__func__, stream, [&](Context& context, Stream& found) -> CUresult {
    if (copy != nullptr) CUDA_TWIN_TRY(peer_copy(copy->dstContext, copy->srcContext));
    return copy_structure_later(context, found, copy);
  });
}

}  // extern "C"
