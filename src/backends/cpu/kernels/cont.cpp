#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

class Cont final : public CopyKernel {
 public:
  const Op& op() const override { return cont_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    copy(call.sources[0], call.result, begin, end, scratch);
    return Fault::kNone;
  }
};

}  // namespace

KernelList cont_kernels() {
  static const Cont kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
