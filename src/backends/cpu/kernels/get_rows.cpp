#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/integers.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

class GetRows final : public AnyCaseKernel {
 public:
  const Op& op() const override { return get_rows_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }
  std::size_t worker_scratch(const NodeView&) const override { return copy_scratch_bytes(kPiece); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& table = call.sources[0];
    const std::int64_t n = call.result.sizes[0];
    Fault fault = Fault::kNone;
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const std::int64_t id = integer_at(call.sources[1], at.i1, at.i2, at.i3);
      if (id < 0 || id >= table.sizes[1]) {
        fault = Fault::kIndexOutOfRange;
        return;
      }
      for (std::int64_t first = 0; first < n; first += kPiece) {
        copy_piece(table, table.row(id, at.i2, at.i3), call.result, row_data(call.result, at),
                   first, std::min(kPiece, n - first), scratch);
      }
    });
    return fault;
  }
};

}  // namespace

KernelList get_rows_kernels() {
  static const GetRows kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
