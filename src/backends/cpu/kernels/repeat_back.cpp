#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kElements = 256;

/// An item is a piece of a row of the result, which takes from every row of dy that repeats it.
class RepeatBack final : public AnyCaseKernel {
 public:
  const Op& op() const override { return repeat_back_op(); }
  std::int64_t items(const Call& call, int) const override {
    return call.result.rows() * ceil_div(call.result.sizes[0], kElements);
  }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return static_cast<std::size_t>(kElements) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const Sizes& sizes = call.result.sizes;
    const std::int64_t pieces = ceil_div(sizes[0], kElements);
    for (std::int64_t item = begin; item < end; ++item) {
      const RowIndex at = row_index(sizes, item / pieces);
      const std::int64_t first = item % pieces * kElements;
      sum_up(call, at, first, std::min(kElements, sizes[0] - first), as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  static void sum_up(const Call& call, const RowIndex& at, std::int64_t first, std::int64_t count,
                     float* room) {
    const TensorArg& dy = call.sources[0];
    const Sizes& sizes = call.result.sizes;
    float* dx = as_f32(row_data(call.result, at)) + first;
    std::fill_n(dx, count, 0.0F);
    double single = 0;  // where rows of dy are numbers repeated
    for (std::int64_t i3 = at.i3; i3 < dy.sizes[3]; i3 += sizes[3]) {
      for (std::int64_t i2 = at.i2; i2 < dy.sizes[2]; i2 += sizes[2]) {
        for (std::int64_t i1 = at.i1; i1 < dy.sizes[1]; i1 += sizes[1]) {
          std::byte* row = dy.row(i1, i2, i3);
          if (sizes[0] == 1) {
            for (std::int64_t i = 0; i < dy.sizes[0]; ++i) {
              single += *as_f32(row + i * dy.strides[0]);
            }
            continue;
          }
          for (std::int64_t i = first; i < dy.sizes[0]; i += sizes[0]) {
            simd::add(call.level(), dx, view_f32(dy, row, i, count, room), dx, count);
          }
        }
      }
    }
    if (sizes[0] == 1) *dx = static_cast<float>(single);
  }
};

}  // namespace

KernelList repeat_back_kernels() {
  return list_kernels<CpuKernel, RepeatBack>();
}

}  // namespace shunt::cpu
