#include "backends/cpu/kernels/into_first.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class UpdateMoment final : public IntoFirstKernel {
 public:
  const Op& op() const override { return update_moment_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<UpdateMomentParams>();
    const auto part = static_cast<float>(1 - static_cast<double>(params.beta));
    update(call, 1, begin, end, scratch,
           [&](float* y, const auto& rows, float* room, std::int64_t count) {
             simd::mul(call.level(), rows[0], part, room, count);
             if (params.power == 2) simd::mul(call.level(), room, rows[0], room, count);
             simd::scale_add(call.level(), y, params.beta, room, y, count);
           });
    return Fault::kNone;
  }
};

}  // namespace

KernelList update_moment_kernels() {
  return list_kernels<CpuKernel, UpdateMoment>();
}

}  // namespace shunt::cpu
