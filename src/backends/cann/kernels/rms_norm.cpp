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

double eps_of(const Operands& node) {
  return double{node.params<RmsNormParams>().eps};
}

/// Whether the vendor's operator may be asked for. It divides by 0 without eps. Rows that are short
/// in some runs would take other operators there, whose memory is not planned.
bool may_be_fused(const Operands& node) {
  return eps_of(node) > 0 && node.result_tensor().shape[0].is_fixed();
}

/// Of F32 rows without gaps.
void compose(Calls& calls, const View& x, const std::optional<View>& scale, float eps,
             const View& y) {
  Formula formula(calls);
  const View square = formula.mul(x, x);
  const View root = formula.deviation(formula.row_means(square), eps);
  if (scale) {
    formula.mul(formula.div(x, root, square), *scale, y);
  } else {
    formula.div(x, root, y);
  }
}

}  // namespace

void rms_norm(Calls& calls, const Operands& node, const View& x, const std::optional<View>& scale,
              const View& y) {
  if (may_be_fused(node)) {
    const View gamma = scale ? *scale : ones(calls, x.type(), x.size(0));
    if (calls.attempt(kRmsNorm, x, gamma, eps_of(node), y, factors(calls, x))) return;
  }
  fill_f32(calls, y, [&](const View& to) {
    compose(calls, as_f32(calls, x), scale, node.params<RmsNormParams>().eps, to);
  });
}

void add_rms_norm(Calls& calls, const Operands& node, const View& a, const View& b,
                  const View& scale, const View& sum, const View& y) {
  if (may_be_fused(node) &&
      calls.attempt(kAddRmsNorm, a, b, scale, eps_of(node), y, factors(calls, a), sum))
    return;
  Formula(calls).add(a, b, sum);
  rms_norm(calls, node, sum, scale, y);
}

namespace {

class RmsNorm final : public CannKernel {
 public:
  const Op& op() const override { return rms_norm_op(); }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    rms_norm(calls, node, node.source(0), std::nullopt, node.result());
  }
};

}  // namespace

KernelList rms_norm_kernels() {
  return list_kernels<CannKernel, RmsNorm>();
}

}  // namespace shunt::cann
