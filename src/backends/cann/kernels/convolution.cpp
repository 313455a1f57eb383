#include "shunt/ops/convolution.h"
#include "backend_support/error_share.h"
#include "backend_support/kernel_rows.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

namespace {

/// A convolution as the vendor's operator has it: [..., C, N] and [..., C, O], or transposed [...,
/// O, C], the axes first.
struct ConvolutionCall {
  View w, x, y;
  std::vector<std::int64_t> stride, pad, dilation;  // the outermost axis first
  std::int64_t groups = 1;
};

template <class Array>
std::vector<std::int64_t> outermost_first(const Array& values) {
  return {values.rbegin(), values.rend()};
}

ConvolutionCall along_planes(const Operands& node) {
  const auto& params = node.params<Conv2dParams>();
  return {.w = node.source(0),
          .x = node.source(1),
          .y = node.result(),
          .stride = outermost_first(params.stride),
          .pad = outermost_first(params.pad),
          .dilation = outermost_first(params.dilation)};
}

ConvolutionCall depthwise(const Operands& node) {
  ConvolutionCall call = along_planes(node);
  call.groups = call.w.size(3);
  return call;
}

ConvolutionCall along_rows(const Operands& node) {
  const auto& params = node.params<Conv1dParams>();
  return {.w = node.source(0).without(3),
          .x = node.source(1).without(3),
          .y = node.result().without(3),
          .stride = {params.stride},
          .pad = {params.pad},
          .dilation = {params.dilation}};
}

ConvolutionCall along_volumes(const Operands& node) {
  const auto& params = node.params<Conv3dParams>();
  const View w = node.source(0).split(3, params.channels);
  return {.w = w,
          .x = node.source(1).split(3, params.channels),
          .y = node.result().split(3, w.size(4)),
          .stride = outermost_first(params.stride),
          .pad = outermost_first(params.pad),
          .dilation = outermost_first(params.dilation)};
}

struct ConvolutionRow {
  const Op& (*op)();
  ConvolutionCall (*call)(const Operands& node);
  bool transposed = false;
};
constexpr std::array kConvolutions = {
    ConvolutionRow{conv_2d_op, along_planes},
    ConvolutionRow{conv_2d_dw_op, depthwise},
    ConvolutionRow{conv_3d_op, along_volumes},
    ConvolutionRow{conv_transpose_1d_op, along_rows, true},
    ConvolutionRow{conv_transpose_2d_op, along_planes, true},
};

/// Operands are F32. A chip without products of F32 rounds them to F16 itself.
class Convolution final : public CannKernel {
 public:
  explicit Convolution(const ConvolutionRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }

  /// Half a unit in the last place of an F16 is 2^-11 of its power of two, and both operands are
  /// off by up to that, evenly spread: 2 * 2^-22 / 3 at most.
  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    return target.chip->f32_products ? 0 : 0x1p-22 * error_share(view.result());
  }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    ConvolutionCall call = row_.call(node);
    if (call.w.is_empty() || call.x.is_empty()) return calls.fill(call.y, Scalar(0.0F));
    const Format format = format_of(call.x.rank());
    const auto prepared = [&](const View& view) {
      return calls.cast(calls.contiguous(view), DataType::kFloat).in_format(format);
    };
    const std::vector<std::int64_t> no_pad(call.stride.size(), 0);
    calls(kConvolution, prepared(call.x), prepared(call.w), std::nullopt, call.stride, call.pad,
          call.dilation, row_.transposed, no_pad, call.groups, call.y.in_format(format),
          target.chip->f32_products ? CubeMath::kKeep : CubeMath::kLowerPrecision);
  }

 private:
  static Format format_of(std::size_t rank) {
    constexpr std::array kFormats = {Format::kNcl, Format::kNchw, Format::kNcdhw};
    return kFormats[rank - 3];
  }

  const ConvolutionRow& row_;
};

}  // namespace

KernelList convolution_kernels() {
  static const KernelRows<Convolution, CannKernel> kKernels(kConvolutions);
  return kKernels.list();
}

}  // namespace shunt::cann
