#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

class Concat final : public PieceKernel {
 public:
  const Op& op() const override { return concat_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const auto dim = static_cast<std::size_t>(call.params->get<ConcatParams>().dim);
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const TensorArg& y = call.result;
    const std::int64_t n = a.sizes[dim];
    for_each_piece(y, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
      const std::array<std::int64_t, kMaxDims> i = {0, at.i1, at.i2, at.i3};
      std::byte* to = row_data(y, at);
      // How many elements of this piece are a's.
      std::int64_t of_a = 0;
      if (dim == 0) of_a = std::clamp<std::int64_t>(n - first, 0, count);
      if (dim != 0 && i[dim] < n) of_a = count;
      if (of_a > 0) copy_piece(a, row_data(a, at), y, to, first, of_a, nullptr);
      if (of_a == count) return;
      const auto in_b = [&](std::size_t d) { return d == dim ? i[d] - n : i[d]; };
      const std::int64_t skipped = dim == 0 ? n : 0;
      copy_run(b, b.row(in_b(1), in_b(2), in_b(3)), first + of_a - skipped, y, to, first + of_a,
               count - of_a, nullptr);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList concat_kernels() {
  return list_kernels<CpuKernel, Concat>();
}

}  // namespace shunt::cpu
