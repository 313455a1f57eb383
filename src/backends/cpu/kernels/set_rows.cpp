#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/integers.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

class SetRows final : public AnyCaseKernel {
 public:
  const Op& op() const override { return set_rows_op(); }
  std::int64_t items(const Call& call, int) const override { return call.sources[1].rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.sources[1].sizes[0]);
  }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return copy_scratch_bytes(kPiece);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& rows = call.sources[1];
    const std::int64_t n = rows.sizes[0];
    const TensorArg& ids = call.sources[2];
    Fault fault = Fault::kNone;
    for_each_row(rows.sizes, begin, end, [&](const RowIndex& at) {
      const std::int64_t id = integer_at(ids, at.i1, at.i2 % ids.sizes[1], at.i3 % ids.sizes[2]);
      if (id < 0 || id >= call.result.sizes[1]) {
        fault = Fault::kIndexOutOfRange;
        return;
      }
      for (std::int64_t first = 0; first < n; first += kPiece) {
        copy_piece(rows, row_data(rows, at), call.result, call.result.row(id, at.i2, at.i3), first,
                   std::min(kPiece, n - first), scratch);
      }
    });
    return fault;
  }
};

}  // namespace

KernelList set_rows_kernels() {
  return list_kernels<CpuKernel, SetRows>();
}

}  // namespace shunt::cpu
