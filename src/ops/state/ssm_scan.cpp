#include <cmath>

#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

/// ln(1 + exp(x)), also where exp(x) is infinite.
double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

class SsmScan final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "ssm_scan",
        .family = "state",
        .summary =
            "Selective state space (Mamba, arXiv 2312.00752; Mamba 2, arXiv 2405.21060). With step "
            "= ln(1 + exp(dt)): state[n, p] = exp(step * a[n]) * state[n, p] + step * b[n] * x[p], "
            "y[p] = sum over n of c[n] * state[n, p], for each head; heads in groups share b and "
            "c. The result is [P * H, T + N, S]: the outputs, then the states. With ends it is [P "
            "* H, T + N * S, 1], and sequence s has tokens ends[s - 1] to ends[s] - 1. All floats "
            "are F32.",
        .sources = {"x", "dt", "a", "b", "c", "states", "ids?", "ends?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    const Tensor& a = *sources[2];
    const Tensor& b = *sources[3];
    SHUNT_TRY(expect_type("x", x, {DType::kF32}));
    SHUNT_TRY(expect_fixed("x", x, 2));
    SHUNT_TRY(expect_type("b", b, {DType::kF32}));
    SHUNT_TRY(expect_fixed("b", b, 2));
    const auto& [p, heads, tokens, sequences] = x.shape;
    const Dim& n = b.shape[0];
    SHUNT_TRY(expect_f32_of("dt", *sources[1], {heads, tokens, sequences, 1}, "[H, T, S]"));
    const Dim& steps = a.shape[0] == Dim(1) ? a.shape[0] : n;
    SHUNT_TRY(expect_f32_of("a", a, {steps, heads, 1, 1}, "[N, H]"));
    SHUNT_TRY(expect_f32_of("b", b, {n, b.shape[1], tokens, sequences}, "[N, G, T, S]"));
    if (!divides(b.shape[1], heads)) {
      return invalid("the groups of b, {}, do not divide the heads of x, {}", b.size(1), heads.max);
    }
    SHUNT_TRY(expect_f32_of("c", *sources[4], b.shape, "b"));
    return infer_recurrence(info(), sources, kStates, {{n, p, heads}, p, heads, n});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const RefTensor& dt = *sources[1];
    const RefTensor& a = *sources[2];
    const RefTensor& b = *sources[3];
    const RefTensor& c = *sources[4];
    const std::int64_t channels = x.sizes[0];
    const std::int64_t heads = x.sizes[1];
    for (std::int64_t s = 0; s < RefRecurrence::count(sources, kStates); ++s) {
      RefRecurrence sequence(sources, kStates, s, result);
      const std::int64_t column = sequence.column();
      for (std::int64_t t = sequence.first(); t < sequence.end(); ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const std::int64_t g = h / (heads / b.sizes[1]);
          const double step = softplus(dt.at(h, t, column));
          for (std::int64_t p = 0; p < channels; ++p) {
            double y = 0;
            for (std::int64_t n = 0; n < b.sizes[0]; ++n) {
              double& state = sequence.state(n, p, h);
              state = std::exp(step * a.at(n % a.sizes[0], h)) * state +
                      step * b.at(n, g, t, column) * x.at(p, h, t, column);
              y += c.at(n, g, t, column) * state;
            }
            sequence.output(h * channels + p, t) = y;
          }
        }
      }
      sequence.finish();
    }
  }

  /// Each element of the state decays, takes something, and is added up.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 5.0 * static_cast<double>(sources[3]->size(0)) *
           static_cast<double>(element_count(sources[0]->shape));
  }

 private:
  static constexpr StatesSource kStates = {5};
};

}  // namespace

const Op& ssm_scan_op() {
  static const SsmScan kOp;
  return kOp;
}

Result<Recurrence> ssm_scan(GraphBuilder& g, Operand x, Operand dt, Operand a, Operand b, Operand c,
                            Operand states, Operand ids, Operand ends) {
  const Result<Value> result =
      g.apply(ssm_scan_op(), Params::of(NoParams{}), {&x, &dt, &a, &b, &c, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*x).shape, g.tensor(*states).shape});
}

}  // namespace shunt
