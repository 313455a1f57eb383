#include "backends/cpu/kernels/window.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

/// An item is a row of the image, which takes from every window that meets it.
class Im2colBack final : public AnyCaseKernel {
 public:
  const Op& op() const override { return im2col_back_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const Im2colParams& params = call.params->get<Im2colBackParams>().windows;
    const Image image(call.result, params.kernel, params.stride, params.pad, params.dilation);
    for_each_row(call.result.sizes, begin, end,
                 [&](const RowIndex& at) { sum_up(call, image.x(), image.y(), at); });
    return Fault::kNone;
  }

 private:
  static void sum_up(const Call& call, const Axis& x, const Axis& y, const RowIndex& at) {
    const TensorArg& dy = call.sources[0];
    float* dx = as_f32(row_data(call.result, at));
    std::fill_n(dx, x.size, 0.0F);
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      // The only position along y, if any, whose element ky is this row.
      const std::int64_t steps = at.i1 - y.at(0, ky);
      const std::int64_t j = steps / y.stride;
      if (steps < 0 || steps % y.stride != 0 || j >= dy.sizes[2]) continue;
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t column = kx + x.kernel * (ky + y.kernel * at.i2);
        const Axis::Range range = x.positions(kx, dy.sizes[1]);
        for (std::int64_t i = range.first; i < range.last; ++i) {
          dx[x.at(i, kx)] += *as_f32(dy.row(i, j, at.i3) + column * dy.strides[0]);
        }
      }
    }
  }
};

}  // namespace

KernelList im2col_back_kernels() {
  return list_kernels<CpuKernel, Im2colBack>();
}

}  // namespace shunt::cpu
