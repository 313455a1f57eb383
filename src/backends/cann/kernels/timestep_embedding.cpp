#include <cmath>

#include <fmt/format.h>

#include "backends/cann/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

/// Angles are computed in F64: those of F32 are too coarse for large time steps.
class TimestepEmbedding final : public CannKernel {
 public:
  const Op& op() const override { return timestep_embedding_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<TimestepEmbeddingParams>();
    const View result = node.result();
    const std::int64_t half = params.dim / 2;
    const std::int64_t steps = result.size(1);
    if (params.dim % 2 != 0) calls.fill(result.sliced(0, params.dim - 1, 1), 0.0F);
    if (half == 0) return;
    const View t = calls.cast(node.source(0), DataType::kDouble);
    const View angles = calls.temporary(DataType::kDouble, {half, steps, 1, 1});
    calls(kMul, calls.contiguous(t).reshaped({1, steps, 1, 1}), frequencies(calls, params, half),
          angles);
    const auto write = [&](const VendorOp<In, Out>& function, std::int64_t start) {
      const View values = calls.temporary(DataType::kDouble, angles.sizes());
      calls(function, angles, values);
      calls.copy(result.sliced(0, start, half), values);
    };
    write(kCos, 0);
    write(kSin, half);
  }

 private:
  /// F64 [half], of two F32 each.
  static View frequencies(Calls& calls, const TimestepEmbeddingParams& params, std::int64_t half) {
    const auto part = [&](const char* name, bool is_rest) {
      const std::string key = fmt::format("timestep {} {} {}", params.max_period, params.dim, name);
      return calls.cast(
          calls.constant(key, static_cast<std::size_t>(half),
                         [&](std::span<float> to) {
                           for (std::size_t j = 0; j < to.size(); ++j) {
                             const double exponent =
                                 -static_cast<double>(j) / static_cast<double>(half);
                             const double all = std::pow(double{params.max_period}, exponent);
                             const auto most = static_cast<float>(all);
                             to[j] = is_rest ? static_cast<float>(all - double{most}) : most;
                           }
                         }),
          DataType::kDouble);
    };
    const View sum = calls.temporary(DataType::kDouble, {half});
    calls(kAdd, part("part", false), part("rest", true), 1.0F, sum);
    return sum;
  }
};

}  // namespace

KernelList timestep_embedding_kernels() {
  return list_kernels<CannKernel, TimestepEmbedding>();
}

}  // namespace shunt::cann
