#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/elementwise.h"

namespace shunt::cpu {

namespace {

class Scale final : public ElementwiseKernel {
 public:
  const Op& op() const override { return scale_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<ScaleParams>();
    unary(call, begin, end, scratch, [&](const float* x, float* y, std::int64_t n) {
      simd::scale(call.level(), x, params.scale, params.bias, y, n);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList scale_kernels() {
  return list_kernels<CpuKernel, Scale>();
}

}  // namespace shunt::cpu
