#include "backends/cpu/simd/gated.h"

#include <cmath>
#include <numbers>

#include "backends/cpu/kernels/elementwise.h"
#include "shunt/ops/activation.h"

namespace shunt::cpu {

namespace {

/// gate and up are two sources, or two halves of the rows of one.
class GatedKernel : public ElementwiseKernel {
 protected:
  /// Calls f(gate, up, y, count) for pieces [begin, end).
  template <class F>
  static void gated(const Call& call, GateHalf gate_half, std::int64_t begin, std::int64_t end,
                    std::byte* scratch, F f) {
    TensorArg gate = call.sources[0];
    TensorArg up = call.sources[1];
    if (up.data == nullptr) {
      up = gate;
      TensorArg& second = gate_half == GateHalf::kSecond ? gate : up;
      second.data += call.result.sizes[0] * second.strides[0];
    }
    binary(
        gate, up, call.result, begin, end, scratch,
        [&](const RowIndex& at) { return row_data(up, at); }, f);
  }
};

using GateFunction = void (*)(simd::Level level, const float* gate, const float* up, float* y,
                              std::int64_t n);

class Gated final : public GatedKernel {
 public:
  Gated(const Op& op, GateFunction function) : op_(op), function_(function) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    gated(call, call.params->get<GatedParams>().gate, begin, end, scratch,
          [&](const float* gate, const float* up, float* y, std::int64_t n) {
            function_(call.level(), gate, up, y, n);
          });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  GateFunction function_;
};

class SwigluOai final : public GatedKernel {
 public:
  const Op& op() const override { return swiglu_oai_op(); }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto params = call.params->get<SwigluOaiParams>();
    gated(call, params.gate, begin, end, scratch,
          [&](const float* gate, const float* up, float* y, std::int64_t n) {
            simd::swiglu_oai(call.level(), gate, up, params.alpha, params.limit, y, n);
          });
    return Fault::kNone;
  }
};

void geglu_erf(simd::Level, const float* gate, const float* up, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = gate[i];
    y[i] = static_cast<float>(x * std::erfc(-x / std::numbers::sqrt2) / 2 * up[i]);
  }
}

}  // namespace

KernelList gated_kernels() {
  static const Gated kReglu(reglu_op(), simd::reglu);
  static const Gated kGeglu(geglu_op(), simd::geglu);
  static const Gated kGegluErf(geglu_erf_op(), geglu_erf);
  static const Gated kGegluQuick(geglu_quick_op(), simd::geglu_quick);
  static const Gated kSwiglu(swiglu_op(), simd::swiglu);
  static const SwigluOai kSwigluOai;
  static constexpr const CpuKernel* kKernels[] = {&kReglu,      &kGeglu,  &kGegluErf,
                                                  &kGegluQuick, &kSwiglu, &kSwigluOai};
  return kKernels;
}

}  // namespace shunt::cpu
