#include "cuda/driver/jit.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cuda/call.h"

namespace cuda_twin {

void** JitOptions::find(CUjit_option option) const {
  for (unsigned i = 0; i < count_; ++i) {
    if (options_[i] == option) return &values_[i];
  }
  return nullptr;
}

CUresult JitOptions::check() const {
  if (count_ == 0) return CUDA_SUCCESS;
  if (options_ == nullptr || values_ == nullptr) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "options or values are null");
  }
  for (unsigned i = 0; i < count_; ++i) {
    if (options_[i] < CU_JIT_MAX_REGISTERS || options_[i] > CU_JIT_SPLIT_COMPILE) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such option");
    }
  }
  const bool info = find(CU_JIT_INFO_LOG_BUFFER) != nullptr;
  const bool error = find(CU_JIT_ERROR_LOG_BUFFER) != nullptr;
  if ((info && find(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) == nullptr) ||
      (error && find(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) == nullptr)) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "a log buffer has no size");
  }
  return CUDA_SUCCESS;
}

void JitOptions::write(CUjit_option buffer, CUjit_option size, const std::string& text) const {
  void** const at = find(buffer);
  void** const room = find(size);
  if (room == nullptr) return;
  // Sizes are unsigned int in the place of a pointer.
  const auto bytes = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(*room));
  std::size_t filled = 0;
  if (at != nullptr && *at != nullptr && bytes > 0) {
    filled = std::min<std::size_t>(text.size(), bytes - 1);
    std::memcpy(*at, text.data(), filled);
    static_cast<char*>(*at)[filled] = '\0';
  }
  *room = reinterpret_cast<void*>(filled);
}

void JitOptions::write_logs(const std::string& info, const std::string& error) const {
  write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, info);
  write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error);
}

}  // namespace cuda_twin
