#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/activation.h"

namespace shunt::cpu {

namespace {

class Swiglu final : public ElementwiseKernel {
 public:
  const Op& op() const override { return swiglu_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    binary(call, begin, end, scratch, simd::swiglu);
    return Fault::kNone;
  }
};

}  // namespace

KernelList swiglu_kernels() {
  static const Swiglu kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
