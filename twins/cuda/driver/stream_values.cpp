// Words in memory that streams write and wait for.
#include <chrono>
#include <thread>

#include "cuda/call.h"
#include "cuda/driver/kinds.h"
#include "cuda/driver/perform.h"

namespace cuda_twin {
namespace {

constexpr unsigned kConditions = 3;  // bits of the flags with the condition

/// The storage of an aligned word of a device, or of pinned memory. Null if there is none.
std::byte* word_at(std::uint64_t address, std::uint32_t bytes, ExtentPtr& extent) {
  if (address % bytes != 0) return nullptr;
  extent = driver().space->find(address);
  if (extent == nullptr || extent->end() - address < bytes) return nullptr;
  return extent->data + (address - extent->begin);
}

std::uint64_t load(const std::byte* word, std::uint32_t bytes) {
  return bytes == 4
             ? __atomic_load_n(reinterpret_cast<const std::uint32_t*>(word), __ATOMIC_ACQUIRE)
             : __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word), __ATOMIC_ACQUIRE);
}

void store(std::byte* word, std::uint64_t value, std::uint32_t bytes) {
  if (bytes == 4) {
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(word), static_cast<std::uint32_t>(value),
                     __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(word), value, __ATOMIC_RELEASE);
  }
}

/// Whether the wait is over, for a value of 4 or 8 bytes.
bool holds(std::uint64_t now, const WaitValueWork& work) {
  const std::uint64_t mask = work.bytes == 4 ? 0xFFFFFFFFU : ~std::uint64_t{0};
  const std::uint64_t sign = (mask >> 1) + 1;
  switch (work.flags & kConditions) {
    case CU_STREAM_WAIT_VALUE_GEQ:  // cyclic: as the vendor defines it
      return (((now - work.value) & mask) & sign) == 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == (work.value & mask);
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & work.value & mask) != 0;
    default:
      return (~(now | work.value) & mask) != 0;
  }
}

CUresult check_word(CUdeviceptr address, std::uint32_t bytes) {
  ExtentPtr extent;
  if (word_at(address, bytes, extent) != nullptr) return CUDA_SUCCESS;
  return refuse(CUDA_ERROR_INVALID_VALUE, "there is no aligned word at the address");
}

CUresult write(Stream& stream, CUdeviceptr address, std::uint64_t value, std::uint32_t bytes,
               unsigned flags) {
  if (flags > CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
  }
  CUDA_TWIN_TRY(check_word(address, bytes));
  return submit(stream, WriteValueWork{address, value, bytes});
}

CUresult wait(Stream& stream, CUdeviceptr address, std::uint64_t value, std::uint32_t bytes,
              unsigned flags) {
  if ((flags & ~(kConditions | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH))) != 0) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown flags");
  }
  if ((flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) {
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "the device does not flush remote writes");
  }
  CUDA_TWIN_TRY(check_word(address, bytes));
  return submit(stream, WaitValueWork{address, value, bytes, flags});
}

}  // namespace

CUresult perform_write_value(Context& context, const WriteValueWork& work, std::uint64_t number) {
  (void)number;
  ExtentPtr extent;
  std::byte* const word = word_at(work.to, work.bytes, extent);
  if (word == nullptr || refuses_writes(*extent)) {
    return fail_work(context, CUDA_ERROR_ILLEGAL_ADDRESS,
                     "a stream writes a value to no memory, or to read-only memory");
  }
  if (extent->written != nullptr) {
    set_written(extent->written, work.to - extent->begin, work.bytes);
  }
  store(word, work.value, work.bytes);
  return CUDA_SUCCESS;
}

CUresult perform_wait_value(Context& context, const WaitValueWork& work) {
  ExtentPtr extent;
  const std::byte* const word = word_at(work.at, work.bytes, extent);
  if (word == nullptr) {
    return fail_work(context, CUDA_ERROR_ILLEGAL_ADDRESS, "a stream waits for no memory");
  }
  while (!holds(load(word, work.bytes), work)) {
    if (context.destroyed || context.late_error != 0) return CUDA_SUCCESS;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return CUDA_SUCCESS;
}

}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                              unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) {
    return write(found, address, value, 4, flags);
  });
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                              unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) {
    return write(found, address, value, 8, flags);
  });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) {
    return wait(found, address, value, 4, flags);
  });
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, cuuint64_t value,
                             unsigned int flags) {
  return call_in_stream(__func__, stream, [&](Context&, Stream& found) {
    return wait(found, address, value, 8, flags);
  });
}

}  // extern "C"
