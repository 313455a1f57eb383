#include "backends/cpu/kernels/into_first.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

class Acc final : public IntoFirstKernel {
 public:
  const Op& op() const override { return acc_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    update(call, 1, begin, end, scratch,
           [&](float* y, const auto& rows, float*, std::int64_t count) {
             simd::add(call.level(), y, rows[0], y, count);
           });
    return Fault::kNone;
  }
};

}  // namespace

KernelList acc_kernels() {
  return list_kernels<CpuKernel, Acc>();
}

}  // namespace shunt::cpu
