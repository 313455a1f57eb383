// cuMemset and its kin.
#include <algorithm>

#include "cuda/call.h"
#include "cuda/driver/copies.h"
#include "cuda/graphs/capture.h"

namespace cuda_twin {
namespace {

CUresult check(const FillWork& work) {
  if (work.width == 0 || work.height == 0) return CUDA_SUCCESS;
  const std::uint64_t bytes = work.width * work.element_bytes;
  if (work.width > (std::uint64_t{1} << 48) || (work.height > 1 && work.pitch < bytes)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the pitch is smaller than a row");
  }
  if (work.to % work.element_bytes != 0 || work.pitch % work.element_bytes != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the address or pitch is no multiple of the element");
  }
  std::uint64_t end = 0;
  if (__builtin_mul_overflow(work.height, std::max<std::uint64_t>(work.pitch, bytes), &end) ||
      __builtin_add_overflow(end, work.to, &end)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "the fill ends beyond the addresses of 64 bits");
  }
  CopyWork rows = flat_copy(work.to, CopyWork::Side::kDevice, 0, CopyWork::Side::kHost, bytes);
  rows.rows = work.height;
  rows.to_pitch = work.pitch;
  rows.staged = std::make_shared<const std::vector<std::byte>>();
  return check_copy(rows);
}

CUresult fill_now(Context& context, FillWork work) {
  const std::shared_ptr<Stream> stream = default_stream(context);
  CUDA_TWIN_TRY(refuse_synchronize(*stream));
  CUDA_TWIN_TRY(check(work));
  return submit_and_wait(context, *stream, work);
}

CUresult fill_later(Stream& stream, FillWork work) {
  CUDA_TWIN_TRY(check(work));
  return submit(stream, work);
}

FillWork flat(CUdeviceptr to, std::uint32_t value, std::uint32_t bytes, size_t count) {
  return {to, value, bytes, count, 1, 0};
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

// NOLINTBEGIN(bugprone-macro-parentheses): types
#define CUDA_TWIN_FILLS(name, name2d, Type)                                                \
  CUresult name(CUdeviceptr to, Type value, size_t count) {                                \
    return call_in_context(__func__, [&](Context& context) {                               \
      return fill_now(context, flat(to, value, sizeof(Type), count));                      \
    });                                                                                    \
  }                                                                                        \
  CUresult name2d(CUdeviceptr to, size_t pitch, Type value, size_t width, size_t height) { \
    return call_in_context(__func__, [&](Context& context) {                               \
      return fill_now(context, {to, value, sizeof(Type), width, height, pitch});           \
    });                                                                                    \
  }
#define CUDA_TWIN_ASYNC_FILLS(name, name2d, Type)                                        \
  CUresult name(CUdeviceptr to, Type value, size_t count, CUstream stream) {             \
    return call_in_stream(__func__, stream, [&](Context&, Stream& found) {               \
      return fill_later(found, flat(to, value, sizeof(Type), count));                    \
    });                                                                                  \
  }                                                                                      \
  CUresult name2d(CUdeviceptr to, size_t pitch, Type value, size_t width, size_t height, \
                  CUstream stream) {                                                     \
    return call_in_stream(__func__, stream, [&](Context&, Stream& found) {               \
      return fill_later(found, {to, value, sizeof(Type), width, height, pitch});         \
    });                                                                                  \
  }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {

CUDA_TWIN_FILLS(cuMemsetD8, cuMemsetD2D8, unsigned char)
CUDA_TWIN_FILLS(cuMemsetD16, cuMemsetD2D16, unsigned short)
CUDA_TWIN_FILLS(cuMemsetD32, cuMemsetD2D32, unsigned int)
CUDA_TWIN_ASYNC_FILLS(cuMemsetD8Async, cuMemsetD2D8Async, unsigned char)
CUDA_TWIN_ASYNC_FILLS(cuMemsetD16Async, cuMemsetD2D16Async, unsigned short)
CUDA_TWIN_ASYNC_FILLS(cuMemsetD32Async, cuMemsetD2D32Async, unsigned int)

}  // extern "C"
