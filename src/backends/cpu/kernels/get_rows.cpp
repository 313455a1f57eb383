#include "backends/cpu/kernels/copy.h"
#include "backends/cpu/kernels/row_ids.h"
#include "shunt/ops/rows.h"

namespace shunt::cpu {

namespace {

class GetRows final : public AnyCaseKernel {
 public:
  const Op& op() const override { return get_rows_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.sizes[1]; }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }
  std::size_t worker_scratch(const NodeView&) const override { return copy_scratch_bytes(kPiece); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& table = call.sources[0];
    const std::int64_t n = call.result.sizes[0];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t id = row_id(call.sources[1], i);
      if (id < 0 || id >= table.sizes[1]) return Fault::kIndexOutOfRange;
      for (std::int64_t first = 0; first < n; first += kPiece) {
        copy_piece(table, table.row(id), call.result, call.result.row(i), first,
                   std::min(kPiece, n - first), scratch);
      }
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList get_rows_kernels() {
  static const GetRows kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
