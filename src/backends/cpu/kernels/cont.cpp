#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

/// cont and dup.
class Cont final : public CopyKernel {
 public:
  explicit Cont(const Op& op) : op_(op) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    copy(call.sources[0], call.result, begin, end, scratch);
    return Fault::kNone;
  }

 private:
  const Op& op_;
};

}  // namespace

KernelList cont_kernels() {
  static const Cont kCont(cont_op());
  static const Cont kDup(dup_op());
  static constexpr const CpuKernel* kKernels[] = {&kCont, &kDup};
  return kKernels;
}

}  // namespace shunt::cpu
