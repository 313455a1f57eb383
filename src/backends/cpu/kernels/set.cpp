#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

/// Items are pieces of x.
class Set final : public AnyCaseKernel {
 public:
  const Op& op() const override { return set_op(); }
  std::int64_t items(const Call& call, int) const override { return piece_count(call.sources[1]); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(std::min(kPiece, call.sources[1].sizes[0]));
  }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return copy_scratch_bytes(kPiece);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[1];
    const TensorArg& dst = call.result;
    const Sizes& start = call.params->get<SetParams>().start;
    for_each_piece(x, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
      std::byte* to = dst.row(start[1] + at.i1, start[2] + at.i2, start[3] + at.i3);
      copy_run(x, row_data(x, at), first, dst, to, start[0] + first, count, scratch);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList set_kernels() {
  return list_kernels<CpuKernel, Set>();
}

}  // namespace shunt::cpu
