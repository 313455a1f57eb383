#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cpu {

namespace {

class Mul final : public ElementwiseKernel {
 public:
  const Op& op() const override { return mul_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    broadcast(call, begin, end, scratch,
              [](const float* a, auto b, float* y, std::int64_t n) { simd::mul(a, b, y, n); });
    return Fault::kNone;
  }
};

}  // namespace

KernelList mul_kernels() {
  static const Mul kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
