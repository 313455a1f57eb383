#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/training.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class SiluBack final : public ElementwiseKernel {
 public:
  const Op& op() const override { return silu_back_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    binary(call, begin, end, scratch, simd::silu_back);
    return Fault::kNone;
  }
};

}  // namespace

KernelList silu_back_kernels() {
  static const SiluBack kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
