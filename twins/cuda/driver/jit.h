// The options of cuModuleLoadDataEx.
#pragma once

#include <string>

#include "cuda/include/cuda_twin/driver.h"

namespace cuda_twin {

class JitOptions {
 public:
  JitOptions(unsigned count, const CUjit_option* options, void** values)
      : count_(count), options_(options), values_(values) {}

  /// CUDA_ERROR_INVALID_VALUE for unknown options, or a log without a size.
  CUresult check() const;
  /// Fills the log buffers, cut to their sizes, and says how many bytes each has now.
  void write_logs(const std::string& info, const std::string& error) const;

 private:
  void** find(CUjit_option option) const;
  void write(CUjit_option buffer, CUjit_option size, const std::string& text) const;

  unsigned count_;
  const CUjit_option* options_;
  void** values_;
};

}  // namespace cuda_twin
