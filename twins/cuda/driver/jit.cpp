#include "cuda/driver/jit.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "cuda/call.h"
#include "cuda/ptx/targets.h"

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
  return check_values();
}

std::optional<std::uint32_t> JitOptions::number(CUjit_option option) const {
  void** const value = find(option);
  if (value == nullptr) return std::nullopt;
  // It has the place of a pointer.
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(*value));
}

CUresult JitOptions::check_values() const {
  constexpr std::uint32_t kHighestLevel = 4;
  if (number(CU_JIT_OPTIMIZATION_LEVEL).value_or(0) > kHighestLevel) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "CU_JIT_OPTIMIZATION_LEVEL is 0 to 4");
  }
  const std::optional<ptx::Target> wanted = target();
  if (wanted && !ptx::target_named(ptx::name_of(*wanted))) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "CU_JIT_TARGET is no CUjit_target");
  }
  return CUDA_SUCCESS;
}

std::optional<ptx::Target> JitOptions::target() const {
  const std::optional<std::uint32_t> value = number(CU_JIT_TARGET);
  if (!value) return std::nullopt;
  // Numbers of CUjit_target: the capability, with 0x10000 for "a" and 0x20000 for "f".
  constexpr std::uint32_t kSuffixes = 0x10000;
  constexpr char kNames[] = {'\0', 'a', 'f'};
  const std::uint32_t suffix = *value / kSuffixes;
  if (suffix >= std::size(kNames)) return ptx::Target{};
  return ptx::Target{static_cast<int>(*value % kSuffixes), kNames[suffix]};
}

void JitOptions::write(CUjit_option buffer, CUjit_option size, const std::string& text) const {
  void** const at = find(buffer);
  void** const room = find(size);
  if (room == nullptr) return;
  const std::uint32_t bytes = number(size).value_or(0);
  std::size_t filled = 0;
  if (at != nullptr && *at != nullptr && bytes > 0) {
    filled = std::min<std::size_t>(text.size(), bytes - 1);
    std::memcpy(*at, text.data(), filled);
    static_cast<char*>(*at)[filled] = '\0';
  }
  *room = reinterpret_cast<void*>(filled);
}

void JitOptions::write_time(float milliseconds) const {
  void** const place = find(CU_JIT_WALL_TIME);
  if (place != nullptr) std::memcpy(static_cast<void*>(place), &milliseconds, sizeof milliseconds);
}

void JitOptions::write_logs(const std::string& info, const std::string& error) const {
  write(CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, info);
  write(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error);
}

}  // namespace cuda_twin
