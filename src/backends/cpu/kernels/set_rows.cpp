#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/row_ids.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

class SetRows final : public AnyCaseKernel {
 public:
  const Op& op() const override { return set_rows_op(); }
  std::int64_t items(const Call& call, int) const override { return call.sources[1].sizes[1]; }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.sources[1].sizes[0]);
  }
  std::size_t worker_scratch(const NodeView&) const override { return copy_scratch_bytes(kPiece); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& rows = call.sources[1];
    const std::int64_t n = rows.sizes[0];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t id = row_id(call.sources[2], i);
      if (id < 0 || id >= call.result.sizes[1]) return Fault::kIndexOutOfRange;
      for (std::int64_t first = 0; first < n; first += kPiece) {
        copy_piece(rows, rows.row(i), call.result, call.result.row(id), first,
                   std::min(kPiece, n - first), scratch);
      }
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList set_rows_kernels() {
  static const SetRows kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
