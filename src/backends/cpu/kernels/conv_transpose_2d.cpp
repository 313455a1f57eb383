#include "backends/cpu/kernels/window.h"

// An item is a piece of a row of the result. One element of the kernels after the other adds its
// products with the elements of x that meet the piece.

namespace shunt::cpu {

namespace {

/// y [W', H', O, N] from w [KW, KH, O, C] and x [W, H, C, N].
struct ConvTranspose2dProblem {
  TensorArg w;
  TensorArg x;
  TensorArg y;
  Conv2dParams params;
};

class ConvTransposeKernel : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return piece_count(call.result); }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const final {
    return static_cast<std::size_t>(node.source(0).size(0)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const ConvTranspose2dProblem p = problem(call);
    for_each_piece(p.y, begin, end,
                   [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
                     add_up(p, at, first, count, as_f32(scratch));
                   });
    return Fault::kNone;
  }

 private:
  virtual ConvTranspose2dProblem problem(const Call& call) const = 0;

  static void add_up(const ConvTranspose2dProblem& p, const RowIndex& at, std::int64_t first,
                     std::int64_t count, float* kernel) {
    const auto& [stride, pad, dilation] = p.params;
    const std::int64_t width = p.w.sizes[0];
    // The piece is an image of its own, which begins later.
    const Axis across = {count, width, stride[0], pad[0] + first, dilation[0]};
    const Axis down = {p.y.sizes[1], p.w.sizes[1], stride[1], pad[1], dilation[1]};
    float* y = as_f32(row_data(p.y, at)) + first;
    std::fill_n(y, count, 0.0F);
    for (std::int64_t ky = 0; ky < down.kernel; ++ky) {
      // The only row of x, if any, whose element ky is this row.
      const std::int64_t steps = at.i1 - down.at(0, ky);
      const std::int64_t j = steps / down.stride;
      if (steps < 0 || steps % down.stride != 0 || j >= p.x.sizes[1]) continue;
      for (std::int64_t c = 0; c < p.x.sizes[2]; ++c) {
        read_f32(p.w, p.w.row(ky, at.i2, c), 0, width, kernel);
        std::byte* x = p.x.row(j, c, at.i3);
        for (std::int64_t kx = 0; kx < width; ++kx) {
          const Axis::Range range = across.positions(kx, p.x.sizes[0]);
          for (std::int64_t i = range.first; i < range.last; ++i) {
            y[across.at(i, kx)] += kernel[kx] * load_f32(p.x.dtype, x + i * p.x.strides[0]);
          }
        }
      }
    }
  }
};

class ConvTranspose1d final : public ConvTransposeKernel {
 public:
  const Op& op() const override { return conv_transpose_1d_op(); }

 private:
  /// A signal as an image of height 1.
  static TensorArg flat(TensorArg signal) {
    signal.sizes = {signal.sizes[0], 1, signal.sizes[1], signal.sizes[2]};
    signal.strides = {signal.strides[0], 0, signal.strides[1], signal.strides[2]};
    return signal;
  }
  ConvTranspose2dProblem problem(const Call& call) const override {
    const auto& params = call.params->get<Conv1dParams>();
    return {flat(call.sources[0]),
            flat(call.sources[1]),
            flat(call.result),
            {{params.stride, 1}, {params.pad, 0}, {params.dilation, 1}}};
  }
};

class ConvTranspose2d final : public ConvTransposeKernel {
 public:
  const Op& op() const override { return conv_transpose_2d_op(); }

 private:
  ConvTranspose2dProblem problem(const Call& call) const override {
    return {call.sources[0], call.sources[1], call.result, call.params->get<Conv2dParams>()};
  }
};

}  // namespace

KernelList conv_transpose_2d_kernels() {
  return list_kernels<CpuKernel, ConvTranspose1d, ConvTranspose2d>();
}

}  // namespace shunt::cpu
