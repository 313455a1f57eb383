#include "backends/cann/kernel.h"
#include "shunt/message.h"
#include "shunt/ops/matrix.h"

namespace shunt::cann {

namespace {

/// Equations whose matrix is a, in the vendor's shapes: b [R, N, ...] with batches that a [N, N,
/// ...] has too, or one of it.
struct Equations {
  View a, b, x;
};

/// Slices of a that are repeated become a dimension of size 1, which the vendor repeats.
Equations repeated(Equations each) {
  for (std::size_t d = each.b.rank(); d-- > 2;) {
    const std::int64_t of_a = each.a.size(d);
    const std::int64_t times = each.b.size(d) / of_a;
    if (times == 1) continue;
    each = {each.a.with_dim(d), each.b.split(d, times), each.x.split(d, times)};
  }
  return each;
}

/// False if the chip does not solve equations of these sizes.
bool solve(Calls& calls, const Equations& all, const SolveTriParams& params) {
  View::Dims sizes = all.x.sizes();
  sizes[0] = all.a.size(0);
  const View copy = calls.temporary(DataType::kFloat, std::move(sizes));
  return calls.attempt(kTriangularSolve, all.b, all.a, params.triangle == Triangle::kUpper, false,
                       params.unit, all.x, copy);
}

/// By substitution: the unknowns of a row are known, and leave the rows that have them.
void substitute(Calls& calls, const Equations& all, const SolveTriParams& params) {
  const bool lower = params.triangle == Triangle::kLower;
  const std::int64_t n = all.a.size(0);
  calls.copy(all.x, all.b);
  for (std::int64_t step = 0; step < n; ++step) {
    const Calls::Scope scope(calls);
    const std::int64_t i = lower ? step : n - 1 - step;
    View known = calls.contiguous(all.x.sliced(1, i, 1));
    const View column = all.a.sliced(0, i, 1);
    if (!params.unit) {
      const View divided = calls.temporary(DataType::kFloat, known.sizes());
      calls(kDiv, known, column.sliced(1, i, 1), divided);
      calls.copy(all.x.sliced(1, i, 1), divided);
      known = divided;
    }
    const std::int64_t left = n - 1 - step;
    if (left == 0) return;
    const std::int64_t first = lower ? i + 1 : 0;
    const View rest = all.x.sliced(1, first, left);
    const View product = calls.temporary(DataType::kFloat, rest.sizes());
    calls(kMul, known, column.sliced(1, first, left), product);
    const View less = calls.temporary(DataType::kFloat, rest.sizes());
    calls(kSub, rest, product, 1.0F, less);
    calls.copy(rest, less);
  }
}

class SolveTri final : public CannKernel {
 public:
  const Op& op() const override { return solve_tri_op(); }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const std::int64_t n = view.source(kA).size(0);
    if (n <= kMostSubstituted || element_count(view.result().shape) == 0) return Support::yes();
    CallPlan plan;
    Calls calls(*target.context, plan);
    if (solve(calls, equations(Operands(view)), params_of(view))) return Support::yes();
    return Support::no(Refusal::kCost,
                       fmt::format("a {} solves {} equations one after another, and at most {}",
                                   target.chip->name, n, kMostSubstituted));
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const Equations all = equations(node);
    const auto& params = params_of(node.view());
    if (!solve(calls, all, params)) substitute(calls, all, params);
  }

 private:
  static constexpr std::size_t kA = 0;
  static constexpr std::size_t kB = 1;
  /// Each takes six calls.
  static constexpr std::int64_t kMostSubstituted = 128;

  static const SolveTriParams& params_of(const NodeView& view) {
    return view.params<SolveTriParams>();
  }
  static Equations equations(const Operands& node) {
    return repeated({node.source(kA), node.source(kB), node.result()});
  }
};

}  // namespace

KernelList solve_tri_kernels() {
  return list_kernels<CannKernel, SolveTri>();
}

}  // namespace shunt::cann
