#include "backends/cpu/kernels/into_first.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class OptStepSgd final : public IntoFirstKernel {
 public:
  const Op& op() const override { return opt_step_sgd_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const double decay = call.params->get<SgdParams>().weight_decay;
    const float rate = *as_f32(call.sources[2].data);
    const auto keep = static_cast<float>(1 - rate * decay);
    update(call, 1, begin, end, scratch,
           [&](float* y, const auto& rows, float* room, std::int64_t count) {
             simd::mul(call.level(), rows[0], -rate, room, count);
             simd::scale_add(call.level(), y, keep, room, y, count);
           });
    return Fault::kNone;
  }
};

}  // namespace

KernelList opt_step_sgd_kernels() {
  return list_kernels<CpuKernel, OptStepSgd>();
}

}  // namespace shunt::cpu
