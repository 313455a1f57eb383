// Sums of many terms in a thread.
#pragma once

#include "backends/cuda/gpu/dialect.h"

namespace shunt::cuda::gpu {

/// In parts, so that the error of F32 grows less with the number of terms.
class LongSum {
 public:
  ON_DEVICE void add(float term) {
    part_ += term;
    if (++terms_ < kTerms) return;
    whole_ += part_;
    part_ = 0;
    terms_ = 0;
  }
  ON_DEVICE float total() const { return whole_ + part_; }

 private:
  static constexpr int kTerms = 64;
  float whole_ = 0, part_ = 0;
  int terms_ = 0;
};

}  // namespace shunt::cuda::gpu
