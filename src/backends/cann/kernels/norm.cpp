#include "shunt/ops/norm.h"
#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

namespace {

/// Of F32 rows without gaps. The mean of rows far from 0 has a large rounding error. It is the mean
/// of the differences, and is taken away as well.
void compose_norm(Calls& calls, const View& x, float eps, const View& y) {
  Formula formula(calls);
  const View near = formula.sub(x, formula.row_means(x));
  const View centred = formula.sub(near, formula.row_means(near), near);
  const View variance = formula.row_means(formula.mul(centred, centred));
  formula.div(centred, formula.deviation(variance, eps), y);
}

/// Each row less its mean, by its standard deviation.
void standardize(Calls& calls, const View& x, float eps, const View& y) {
  // The vendor divides by 0 without eps.
  if (eps > 0 && calls.attempt(kLayerNorm, x, {x.size(0)}, std::nullopt, std::nullopt, double{eps},
                               y, std::nullopt, std::nullopt))
    return;
  fill_f32(calls, y, [&](const View& to) { compose_norm(calls, as_f32(calls, x), eps, to); });
}

class Norm final : public CannKernel {
 public:
  const Op& op() const override { return norm_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    standardize(calls, node.source(0), node.params<NormParams>().eps, node.result());
  }
};

class GroupNorm final : public CannKernel {
 public:
  const Op& op() const override { return group_norm_op(); }

  /// A group is a row of elements one after another.
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const auto& params = node.params<GroupNormParams>();
    const View x = calls.contiguous(node.source(0));
    const std::int64_t rows = params.groups * x.size(3);
    const View::Dims sizes = {x.elements() / rows, rows};
    standardize(calls, x.reshaped(sizes), params.eps, node.result().reshaped(sizes));
  }
};

}  // namespace

KernelList norm_kernels() {
  return list_kernels<CannKernel, Norm, GroupNorm>();
}

}  // namespace shunt::cann
