#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/reduce.h"

namespace shunt::cpu {

namespace {

/// Pieces of rows are summed first, each to a number in scratch; then the sums before each piece
/// are added up, row by row; then each piece goes on from there.
class Cumsum final : public AnyCaseKernel {
 public:
  const Op& op() const override { return cumsum_op(); }
  int phases() const override { return 3; }
  std::int64_t items(const Call& call, int phase) const override {
    return phase == 1 ? call.result.rows() : piece_count(call.result);
  }
  std::int64_t grain(const Call& call, int phase) const override {
    const std::int64_t n = call.result.sizes[0];
    return grain_for(phase == 1 ? ceil_div(n, kPiece) : std::min(kPiece, n));
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    TensorArg y;
    y.sizes = max_sizes(node.result().shape);
    return static_cast<std::size_t>(piece_count(y)) * sizeof(double);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), kPiece);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    auto* sums = reinterpret_cast<double*>(call.scratch);
    if (phase == 1) {
      const std::int64_t pieces = ceil_div(call.result.sizes[0], kPiece);
      for (std::int64_t row = begin; row < end; ++row) before_each(sums + row * pieces, pieces);
      return Fault::kNone;
    }
    const TensorArg& x = call.sources[0];
    std::int64_t piece = begin;
    for_each_piece(x, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
      const float* from = view_f32(x, row_data(x, at), first, count, as_f32(scratch));
      double& sum = sums[piece++];
      if (phase == 0) {
        sum = 0;
        for (std::int64_t i = 0; i < count; ++i) sum += double{from[i]};
        return;
      }
      compute_f32(call.result, row_data(call.result, at), first, count, as_f32(scratch),
                  [&](float* y) {
                    double so_far = sum;
                    for (std::int64_t i = 0; i < count; ++i) {
                      so_far += double{from[i]};
                      y[i] = static_cast<float>(so_far);
                    }
                  });
    });
    return Fault::kNone;
  }

 private:
  static void before_each(double* sums, std::int64_t pieces) {
    double before = 0;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const double sum = sums[i];
      sums[i] = before;
      before += sum;
    }
  }
};

}  // namespace

KernelList cumsum_kernels() {
  return list_kernels<CpuKernel, Cumsum>();
}

}  // namespace shunt::cpu
