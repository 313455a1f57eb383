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
    binary(call, begin, end, scratch,
           [&](const float* dy, const float* x, float* dx, std::int64_t n) {
             simd::silu_back(call.level(), dy, x, dx, n);
           });
    return Fault::kNone;
  }
};

}  // namespace

KernelList silu_back_kernels() {
  return list_kernels<CpuKernel, SiluBack>();
}

}  // namespace shunt::cpu
