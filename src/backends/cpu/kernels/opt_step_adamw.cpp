#include <cmath>

#include "backends/cpu/kernels/into_first.h"
#include "backends/cpu/simd/training.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class OptStepAdamw final : public IntoFirstKernel {
 public:
  const Op& op() const override { return opt_step_adamw_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<AdamwParams>();
    const float rate = *as_f32(call.sources[3].data);
    std::int32_t step = 0;
    std::memcpy(&step, call.sources[4].data, sizeof step);
    if (step < 1) return Fault::kIndexOutOfRange;
    const double m_bias = 1 - std::pow(static_cast<double>(params.beta1), step);
    const double v_bias = 1 - std::pow(static_cast<double>(params.beta2), step);
    const simd::AdamStep numbers = {
        .keep = static_cast<float>(1 - static_cast<double>(rate) * params.weight_decay),
        .rate = static_cast<float>(rate / m_bias),
        .v_scale = static_cast<float>(1 / v_bias),
        .eps = params.eps};
    update(call, 2, begin, end, scratch,
           [&](float* y, const auto& rows, float*, std::int64_t count) {
             simd::adam_step(call.level(), numbers, rows[0], rows[1], y, count);
           });
    return Fault::kNone;
  }
};

}  // namespace

KernelList opt_step_adamw_kernels() {
  return list_kernels<CpuKernel, OptStepAdamw>();
}

}  // namespace shunt::cpu
