#include "backends/cpu/kernels/window.h"

namespace shunt::cpu {

namespace {

/// Elements of a window that are decoded at once.
constexpr std::int64_t kRun = 256;

/// An item is a piece of a row of the result, to which the windows that meet it add, one after the
/// other.
class Col2im1d final : public AnyCaseKernel {
 public:
  const Op& op() const override { return col2im_1d_op(); }
  std::int64_t items(const Call& call, int) const override { return piece_count(call.result); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    for_each_piece(call.result, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     add_up(call, at, first, count);
                   });
    return Fault::kNone;
  }

 private:
  static void add_up(const Call& call, const RowIndex& at, std::int64_t first, std::int64_t count) {
    const auto& params = call.params->get<Col2im1dParams>();
    const TensorArg& x = call.sources[0];
    // The piece is an image of its own, which begins later.
    const Axis axis = {count, params.kernel, params.stride, params.pad + first, params.dilation};
    float* y = as_f32(row_data(call.result, at)) + first;
    std::fill_n(y, count, 0.0F);
    // Windows that end after the piece begins, and begin before it ends.
    const std::int64_t begin = axis.positions(axis.kernel - 1, x.sizes[1]).first;
    const std::int64_t end = axis.positions(0, x.sizes[1]).last;
    float window[kRun] = {};
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t k = 0; k < axis.kernel; k += kRun) {
        const std::int64_t run = std::min(kRun, axis.kernel - k);
        read_f32(x, x.row(j, at.i2), k + axis.kernel * at.i1, run, window);
        for (std::int64_t i = 0; i < run; ++i) {
          const std::int64_t to = axis.at(j, k + i);
          if (axis.inside(to)) y[to] += window[i];
        }
      }
    }
  }
};

}  // namespace

KernelList col2im_1d_kernels() {
  return list_kernels<CpuKernel, Col2im1d>();
}

}  // namespace shunt::cpu
