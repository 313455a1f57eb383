#include "shunt/ops/unary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/cpu/kernels/elementwise.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

namespace {

using UnaryFunction = void (*)(simd::Level level, const float* x, float* y, std::int64_t n);

/// Element by element: functions that compilers vectorize by themselves, or that have no vector
/// code.
template <class F>
constexpr UnaryFunction each(F) {
  return [](simd::Level, const float* x, float* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = F()(x[i]);
  };
}

class Unary final : public ElementwiseKernel {
 public:
  Unary(const Op& op, UnaryFunction function) : op_(op), function_(function) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    unary(call, begin, end, scratch,
          [&](const float* x, float* y, std::int64_t n) { function_(call.level(), x, y, n); });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  UnaryFunction function_;
};

class LeakyRelu final : public ElementwiseKernel {
 public:
  const Op& op() const override { return leaky_relu_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const float slope = call.params->get<LeakyReluParams>().slope;
    unary(call, begin, end, scratch, [slope](const float* x, float* y, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : slope * x[i];
    });
    return Fault::kNone;
  }
};

class Clamp final : public ElementwiseKernel {
 public:
  const Op& op() const override { return clamp_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto params = call.params->get<ClampParams>();
    unary(call, begin, end, scratch, [params](const float* x, float* y, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = std::clamp(x[i], params.low, params.high);
    });
    return Fault::kNone;
  }
};

class Xielu final : public ElementwiseKernel {
 public:
  const Op& op() const override { return xielu_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto params = call.params->get<XieluParams>();
    const double positive = softplus(params.alpha_p);
    const double negative = params.beta + softplus(params.alpha_n);
    // In double precision, as both terms may nearly cancel.
    unary(call, begin, end, scratch, [&](const float* x, float* y, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double each = x[i];
        const double curve =
            each > 0 ? positive * each * each
                     : negative * (std::expm1(std::min(each, double{params.eps})) - each);
        y[i] = static_cast<float>(curve + params.beta * each);
      }
    });
    return Fault::kNone;
  }

 private:
  /// ln(1 + exp(alpha)), without exp(alpha) where that is large.
  static double softplus(double alpha) {
    return std::max(alpha, 0.0) + std::log1p(std::exp(-std::fabs(alpha)));
  }
};

}  // namespace

KernelList unary_kernels() {
  static const Unary kFunctions[] = {
      {abs_op(), each([](float x) { return std::fabs(x); })},
      {ceil_op(), each([](float x) { return std::ceil(x); })},
      {cos_op(), each([](float x) { return std::cos(x); })},
      {elu_op(), each([](float x) { return x > 0 ? x : std::expm1(x); })},
      {exp_op(), simd::exp},
      {expm1_op(), each([](float x) { return std::expm1(x); })},
      {floor_op(), each([](float x) { return std::floor(x); })},
      {gelu_op(), simd::gelu},
      {gelu_erf_op(), each([](float x) {
         return static_cast<float>(x * std::erfc(-x / std::numbers::sqrt2) / 2);
       })},
      {gelu_quick_op(), simd::gelu_quick},
      {hardsigmoid_op(), each([](float x) { return std::clamp(x + 3, 0.0F, 6.0F) / 6; })},
      {hardswish_op(), each([](float x) { return x * (std::clamp(x + 3, 0.0F, 6.0F) / 6); })},
      {log_op(), each([](float x) { return std::log(x); })},
      {neg_op(), each([](float x) { return -x; })},
      {relu_op(), each([](float x) { return x < 0 ? 0 : x; })},
      {round_op(), each([](float x) { return std::round(x); })},
      {sgn_op(),
       each([](float x) { return static_cast<float>(x > 0) - static_cast<float>(x < 0); })},
      {sigmoid_op(), simd::sigmoid},
      {silu_op(), simd::silu},
      {sin_op(), each([](float x) { return std::sin(x); })},
      {softplus_op(),
       each([](float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::fabs(x))); })},
      {sqr_op(), each([](float x) { return x * x; })},
      {sqrt_op(), each([](float x) { return std::sqrt(x); })},
      {step_op(), each([](float x) { return x > 0 ? 1.0F : 0.0F; })},
      {tanh_op(), each([](float x) { return std::tanh(x); })},
      {trunc_op(), each([](float x) { return std::trunc(x); })},
  };
  static const LeakyRelu kLeakyRelu;
  static const Clamp kClamp;
  static const Xielu kXielu;
  static const auto kKernels = [] {
    std::array<const CpuKernel*, std::size(kFunctions) + 3> all = {&kLeakyRelu, &kClamp, &kXielu};
    for (std::size_t i = 0; i < std::size(kFunctions); ++i) all[i + 3] = &kFunctions[i];
    return all;
  }();
  return kKernels;
}

}  // namespace shunt::cpu
