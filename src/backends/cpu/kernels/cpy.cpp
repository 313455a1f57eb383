#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

class Cpy final : public CopyKernel {
 public:
  const Op& op() const override { return cpy_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    copy(call.sources[1], call.result, begin, end, scratch);
    return Fault::kNone;
  }
};

}  // namespace

KernelList cpy_kernels() {
  return list_kernels<CpuKernel, Cpy>();
}

}  // namespace shunt::cpu
