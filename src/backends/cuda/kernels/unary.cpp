#include "backends/cuda/kernels/unary.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "backend_support/kernel_rows.h"
#include "backends/cuda/kernel.h"
#include "shunt/ops/elementwise.h"
#include "shunt/ops/unary.h"

namespace shunt::cuda {

namespace {

using UnaryNumbers = std::array<double, gpu::kUnaryNumbers>;

struct UnaryRow {
  const Op& (*op)();
  gpu::UnaryOp code;
  UnaryNumbers (*numbers)(const NodeView& node) = [](const NodeView&) { return UnaryNumbers{}; };
};

UnaryNumbers clamp_numbers(const NodeView& node) {
  const auto& params = node.params<ClampParams>();
  return {params.low, params.high};
}
UnaryNumbers leaky_relu_numbers(const NodeView& node) {
  return {node.params<LeakyReluParams>().slope};
}
UnaryNumbers scale_numbers(const NodeView& node) {
  const auto& params = node.params<ScaleParams>();
  return {params.scale, params.bias};
}
UnaryNumbers xielu_numbers(const NodeView& node) {
  // ln(1 + exp(alpha)), without exp(alpha) where that is large.
  const auto softplus = [](double alpha) {
    return std::max(alpha, 0.0) + std::log1p(std::exp(-std::abs(alpha)));
  };
  const auto& params = node.params<XieluParams>();
  return {softplus(params.alpha_p), params.beta + softplus(params.alpha_n), params.beta,
          params.eps};
}

constexpr std::array kUnaryRows = {
    UnaryRow{abs_op, gpu::kAbs},
    UnaryRow{ceil_op, gpu::kCeil},
    UnaryRow{clamp_op, gpu::kClamp, clamp_numbers},
    UnaryRow{cos_op, gpu::kCos},
    UnaryRow{elu_op, gpu::kElu},
    UnaryRow{exp_op, gpu::kExp},
    UnaryRow{expm1_op, gpu::kExpm1},
    UnaryRow{floor_op, gpu::kFloor},
    UnaryRow{gelu_op, gpu::kGelu},
    UnaryRow{gelu_erf_op, gpu::kGeluErf},
    UnaryRow{gelu_quick_op, gpu::kGeluQuick},
    UnaryRow{hardsigmoid_op, gpu::kHardsigmoid},
    UnaryRow{hardswish_op, gpu::kHardswish},
    UnaryRow{leaky_relu_op, gpu::kLeakyRelu, leaky_relu_numbers},
    UnaryRow{log_op, gpu::kLog},
    UnaryRow{neg_op, gpu::kNeg},
    UnaryRow{relu_op, gpu::kRelu},
    UnaryRow{round_op, gpu::kRound},
    UnaryRow{scale_op, gpu::kScale, scale_numbers},
    UnaryRow{sgn_op, gpu::kSgn},
    UnaryRow{sigmoid_op, gpu::kSigmoid},
    UnaryRow{silu_op, gpu::kSilu},
    UnaryRow{sin_op, gpu::kSin},
    UnaryRow{softplus_op, gpu::kSoftplus},
    UnaryRow{sqr_op, gpu::kSqr},
    UnaryRow{sqrt_op, gpu::kSqrt},
    UnaryRow{step_op, gpu::kStep},
    UnaryRow{tanh_op, gpu::kTanh},
    UnaryRow{trunc_op, gpu::kTrunc},
    UnaryRow{xielu_op, gpu::kXielu, xielu_numbers},
};

class Unary final : public CudaKernel {
 public:
  explicit Unary(const UnaryRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  std::string_view module() const override { return "unary"; }
  Support supports(const NodeView&, const CudaTarget&) const override { return Support::yes(); }

  std::vector<LaunchPlan> plan(const BoundNode& node) const override {
    const NodeView& view = node.view();
    gpu::UnaryArgs params = {.common = node.common(),
                             .x = node.source(0),
                             .y = node.result(),
                             .op = row_.code,
                             .numbers = {}};
    std::ranges::copy(row_.numbers(view), params.numbers);
    return {{.kernel = "unary_" + type_suffix({view.source(0).dtype}),
             .items = element_count(view.result().shape),
             .per_block = 256,
             .parameters = bytes_of(params)}};
  }

 private:
  const UnaryRow& row_;
};

}  // namespace

KernelList unary_kernels() {
  static const KernelRows<Unary, CudaKernel> kernels(kUnaryRows);
  return kernels.list();
}

}  // namespace shunt::cuda
