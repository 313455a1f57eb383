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
            "inputs. The result is [D, T + K - 1, S]: the outputs, then the states. With ends it "
            "is [D, T + (K - 1) * S, 1], and sequence s has tokens ends[s - 1] to ends[s] - 1. All "
            "floats are F32.",
        .sources = {"x", "w", "states", "ids?", "ends?"}};
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
    return infer_recurrence(info(), sources, kStates, {{x.shape[0], rows}, x.shape[0], 1, rows});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const RefTensor& w = *sources[1];
    const std::int64_t taps = w.sizes[0];
    for (std::int64_t s = 0; s < RefRecurrence::count(sources, kStates); ++s) {
      RefRecurrence sequence(sources, kStates, s, result);
      const std::int64_t column = sequence.column();
      for (std::int64_t d = 0; d < x.sizes[0]; ++d) {
        std::vector<double> z;
        z.reserve(static_cast<std::size_t>(taps - 1 + sequence.end() - sequence.first()));
        for (std::int64_t k = 0; k < taps - 1; ++k) z.push_back(sequence.state(d, k));
        for (std::int64_t t = sequence.first(); t < sequence.end(); ++t)
          z.push_back(x.at(d, t, column));
        for (std::int64_t t = sequence.first(); t < sequence.end(); ++t) {
          double sum = 0;
          for (std::int64_t k = 0; k < taps; ++k) {
            sum += w.at(k, d) * z[static_cast<std::size_t>(t - sequence.first() + k)];
          }
          sequence.output(d, t) = sum;
        }
        for (std::int64_t k = 0; k < taps - 1; ++k) {
          sequence.state(d, k) = z[z.size() - static_cast<std::size_t>(taps - 1 - k)];
        }
      }
      sequence.finish();
    }
  }

  /// A multiplication and an addition for each tap.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    return 2.0 * static_cast<double>(sources[1]->size(0)) *
           static_cast<double>(element_count(result.shape));
  }

 private:
  static constexpr StatesSource kStates = {2, 2};
};

}  // namespace

const Op& ssm_conv_op() {
  static const SsmConv kOp;
  return kOp;
}

Result<Recurrence> ssm_conv(GraphBuilder& g, Operand x, Operand w, Operand states, Operand ids,
                            Operand ends) {
  const Result<Value> result =
      g.apply(ssm_conv_op(), Params::of(NoParams{}), {&x, &w, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*x).shape, g.tensor(*states).shape, 2});
}

}  // namespace shunt
