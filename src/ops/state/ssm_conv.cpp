#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

class SsmConv final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "ssm_conv",
        .family = "state",
        .summary =
            "Causal convolution of each channel, with z the K - 1 inputs of the state followed by "
            "x: y[d, t] = sum over k of w[k, d] * z[d, t + k]. The new state is the last K - 1 "
            "inputs. The result is [D, T + K - 1, S]: the outputs, then the states. All floats are "
            "F32.",
        .sources = {"x", "w", "states", "ids?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& x = *sources[0];
    const Tensor& w = *sources[1];
    SHUNT_TRY(expect_type("x", x, {DType::kF32}));
    SHUNT_TRY(expect_dims("x", x, 3));
    SHUNT_TRY(expect_fixed("x", x, 1));
    SHUNT_TRY(expect_fixed("w", w, 1));
    SHUNT_TRY(expect_f32_of("w", w, {w.shape[0], x.shape[0], 1, 1}, "[K, D]"));
    if (w.size(0) < 1) return invalid("w is {}, which has no taps", to_string(w));
    const std::int64_t rows = w.size(0) - 1;
    SHUNT_TRY(expect_states(*sources[2], {x.shape[0], rows}, 2, sources[3], x.shape[2]));
    return infer_recurrence(x.shape[0], 1, x.shape[1], rows, x.shape[2]);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const RefTensor& w = *sources[1];
    const std::int64_t taps = w.sizes[0];
    const std::int64_t tokens = x.sizes[1];
    for (std::int64_t s = 0; s < x.sizes[2]; ++s) {
      RefRecurrence sequence(*sources[2], 2, sources[3], s, result);
      for (std::int64_t d = 0; d < x.sizes[0]; ++d) {
        std::vector<double> z;
        z.reserve(static_cast<std::size_t>(taps - 1 + tokens));
        for (std::int64_t k = 0; k < taps - 1; ++k) z.push_back(sequence.state(d, k));
        for (std::int64_t t = 0; t < tokens; ++t) z.push_back(x.at(d, t, s));
        for (std::int64_t t = 0; t < tokens; ++t) {
          double sum = 0;
          for (std::int64_t k = 0; k < taps; ++k) {
            sum += w.at(k, d) * z[static_cast<std::size_t>(t + k)];
          }
          sequence.output(d, t) = sum;
        }
        for (std::int64_t k = 0; k < taps - 1; ++k) {
          sequence.state(d, k) = z[static_cast<std::size_t>(tokens + k)];
        }
      }
      sequence.finish(tokens);
    }
  }

  /// A multiplication and an addition for each tap.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[1]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }
};

}  // namespace

const Op& ssm_conv_op() {
  static const SsmConv kOp;
  return kOp;
}

Result<Recurrence> ssm_conv(GraphBuilder& g, Operand x, Operand w, Operand states, Operand ids) {
  const Result<Value> result =
      g.apply(ssm_conv_op(), Params::of(NoParams{}), {&x, &w, &states, &ids});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, {g.tensor(*x).shape, 1, g.tensor(*states).shape, 2});
}

}  // namespace shunt
