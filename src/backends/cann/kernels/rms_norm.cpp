#include "backends/cann/kernels/rms_norm.h"

#include "backends/cann/formula.h"
#include "backends/cann/kernel.h"
#include "shunt/message.h"
#include "shunt/ops/norm.h"

namespace shunt::cann {

namespace {

/// A row of ones.
View ones(Calls& calls, DataType type, std::int64_t size) {
  const auto [row, is_new] =
      calls.shared(fmt::format("{} ones of {}", size, to_text(type)), type, {size});
  if (is_new) calls.fill(row, 1.0F);
  return row;
}

/// The vendor's second result, which is not read: one number for each row.
View factors(Calls& calls, const View& x) {
  View::Dims sizes = x.sizes();
  sizes[0] = 1;
  return calls.temporary(DataType::kFloat, std::move(sizes));
}

/// Of F32 rows without gaps.
void compose(Calls& calls, const View& x, const std::optional<View>& scale, float eps,
             const View& y) {
  Formula formula(calls);
  const View square = formula.row_means(formula.mul(x, x));
  const View root = formula.deviation(square, eps);
  if (scale) {
    formula.mul(formula.div(x, root), *scale, y);
  } else {
    formula.div(x, root, y);
  }
}

}  // namespace

void rms_norm(Calls& calls, const View& x, const std::optional<View>& scale, float eps,
              const View& y) {
  // The vendor divides by 0 without eps.
  if (eps > 0) {
    const View gamma = scale ? *scale : ones(calls, x.type(), x.size(0));
    if (calls.attempt(kRmsNorm, x, gamma, double{eps}, y, factors(calls, x))) return;
  }
  fill_f32(calls, y, [&](const View& to) { compose(calls, as_f32(calls, x), scale, eps, to); });
}

void add_rms_norm(Calls& calls, const View& a, const View& b, const View& scale, float eps,
                  const View& sum, const View& y) {
  if (eps > 0 && calls.attempt(kAddRmsNorm, a, b, scale, double{eps}, y, factors(calls, a), sum))
    return;
  Formula(calls).add(a, b, sum);
  rms_norm(calls, sum, scale, eps, y);
}

namespace {

class RmsNorm final : public CannKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    rms_norm(calls, node.source(0), std::nullopt, node.params<RmsNormParams>().eps, node.result());
  }
};

}  // namespace

KernelList rms_norm_kernels() {
  return list_kernels<CannKernel, RmsNorm>();
}

}  // namespace shunt::cann
