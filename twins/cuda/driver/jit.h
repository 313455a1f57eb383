// The options of cuModuleLoadDataEx.
#pragma once

#include <optional>
#include <string>

#include "cuda/include/cuda_twin/driver.h"
#include "cuda/ptx/types.h"

namespace cuda_twin {

class JitOptions {
 public:
  JitOptions(unsigned count, const CUjit_option* options, void** values)
      : count_(count), options_(options), values_(values) {}

  /// CUDA_ERROR_INVALID_VALUE for unknown options and values, or a log without a size.
  CUresult check() const;
  /// The architecture that the text is to be compiled for; nothing: that of the device.
  std::optional<ptx::Target> target() const;
  /// Fills the log buffers, cut to their sizes, and says how many bytes each has now.
  void write_logs(const std::string& info, const std::string& error) const;
  /// For CU_JIT_WALL_TIME.
  void write_time(float milliseconds) const;

 private:
  void** find(CUjit_option option) const;
  /// The value of an option of type unsigned int.
  std::optional<std::uint32_t> number(CUjit_option option) const;
  CUresult check_values() const;
  void write(CUjit_option buffer, CUjit_option size, const std::string& text) const;

  unsigned count_;
  const CUjit_option* options_;
  void** values_;
};

}  // namespace cuda_twin
