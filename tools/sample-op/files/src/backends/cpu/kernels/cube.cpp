#include "backends/cpu/kernels/elementwise.h"
#include "shunt/ops/sample.h"

namespace shunt::cpu {

namespace {

class Cube final : public ElementwiseKernel {
 public:
  const Op& op() const override { return cube_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float factor = call.params->get<CubeParams>().factor;
    unary(call, begin, end, scratch, [&](const float* x, float* y, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = factor * x[i] * x[i] * x[i];
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList cube_kernels() {
  return list_kernels<CpuKernel, Cube>();
}

}  // namespace shunt::cpu
