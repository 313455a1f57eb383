#include "shunt/ops/reduce.h"

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

namespace {

/// Rounded to the result's type.
void write_number(float number, const TensorArg& result, std::byte* to) {
  simd::encode(result.level, &number, result.dtype, to, 1);
}

/// sum_rows, and mean if `divide`: an item is a row.
class RowSums final : public AnyCaseKernel {
 public:
  RowSums(const Op& op, bool divide) : op_(op), divide_(divide) {}
  const Op& op() const override { return op_; }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.sources[0].sizes[0]);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), node.source(0).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    const std::int64_t n = x.sizes[0];
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      const float sum =
          simd::sum(call.level(), view_f32(x, row_data(x, at), 0, n, as_f32(scratch)), n);
      write_number(divide_ ? sum / static_cast<float>(n) : sum, call.result,
                   row_data(call.result, at));
    });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  bool divide_;
};

/// Pieces of rows are summed first, each to a number in scratch; then these, in their order.
class Sum final : public AnyCaseKernel {
 public:
  const Op& op() const override { return sum_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    return phase == 0 ? piece_count(call.sources[0]) : 1;
  }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(std::min(kPiece, call.sources[0].sizes[0]));
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    TensorArg x;
    x.sizes = max_sizes(node.source(0).shape);
    return static_cast<std::size_t>(piece_count(x)) * sizeof(double);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), kPiece);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    auto* sums = reinterpret_cast<double*>(call.scratch);
    if (phase == 0) {
      std::int64_t piece = begin;
      for_each_piece(
          x, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
            sums[piece++] = double{simd::sum(
                call.level(), view_f32(x, row_data(x, at), first, count, as_f32(scratch)), count)};
          });
      return Fault::kNone;
    }
    double all = 0;
    for (std::int64_t i = 0; i < piece_count(x); ++i) all += sums[i];
    write_number(static_cast<float>(all), call.result, call.result.data);
    return Fault::kNone;
  }
};

}  // namespace

KernelList reduce_kernels() {
  static const Sum kSum;
  static const RowSums kSumRows(sum_rows_op(), false);
  static const RowSums kMean(mean_op(), true);
  static constexpr const CpuKernel* kKernels[] = {&kSum, &kSumRows, &kMean};
  return kKernels;
}

}  // namespace shunt::cpu
