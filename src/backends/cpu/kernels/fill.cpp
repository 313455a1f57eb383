#include "backends/cpu/kernels/constant.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

class Fill final : public PieceKernel {
 public:
  const Op& op() const override { return fill_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const Constant constant(call.params->get<FillParams>().value, call.result.dtype);
    for_each_piece(call.result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     constant.write(row_data(call.result, at), first, count);
                   });
    return Fault::kNone;
  }
};

}  // namespace

KernelList fill_kernels() {
  return list_kernels<CpuKernel, Fill>();
}

}  // namespace shunt::cpu
