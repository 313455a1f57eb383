#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/activation.h"

namespace shunt::cpu {

namespace {

class Silu final : public ElementwiseKernel {
 public:
  const Op& op() const override { return silu_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    unary(call, begin, end, scratch, simd::silu);
    return Fault::kNone;
  }
};

}  // namespace

KernelList silu_kernels() {
  static const Silu kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
