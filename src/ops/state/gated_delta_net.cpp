#include <cmath>

#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

class GatedDeltaNet final : public OpWith<GatedDeltaNetParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "gated_delta_net",
        .family = "state",
        .summary =
            "Gated delta rule (arXiv 2412.06464), for each head: state[k, v] = exp(gate[k]) * "
            "state[k, v]; d[v] = beta * (value[v] - sum over k of key[k] * state[k, v]); state[k, "
            "v] = state[k, v] + key[k] * d[v]; y[v] = scale * sum over k of q[k] * state[k, v]. "
            "Heads in groups share q and k. The result is [V * H, T + K, S]: the outputs, then the "
            "states. With ends it is [V * H, T + K * S, 1], and sequence s has tokens ends[s - 1] "
            "to ends[s] - 1. All floats are F32.",
        .sources = {"q", "k", "v", "gate", "beta", "states", "ids?", "ends?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const GatedDeltaNetParams& params) const override {
    const Tensor& q = *sources[0];
    const Tensor& v = *sources[2];
    const Tensor& gate = *sources[3];
    SHUNT_TRY(expect_type("q", q, {DType::kF32}));
    SHUNT_TRY(expect_type("v", v, {DType::kF32}));
    SHUNT_TRY(expect_fixed("q", q, 2));
    SHUNT_TRY(expect_fixed("v", v, 2));
    const auto& [value_size, heads, tokens, sequences] = v.shape;
    const Dim& key_size = q.shape[0];
    SHUNT_TRY(expect_f32_of("q", q, {key_size, q.shape[1], tokens, sequences}, "[K, Hk, T, S]"));
    SHUNT_TRY(expect_f32_of("k", *sources[1], q.shape, "q"));
    if (!divides(q.shape[1], heads)) {
      return invalid("the heads of q, {}, do not divide the heads of v, {}", q.size(1), heads.max);
    }
    const Dim& gates = gate.shape[0] == Dim(1) ? gate.shape[0] : key_size;
    SHUNT_TRY(expect_f32_of("gate", gate, {gates, heads, tokens, sequences}, "[K, H, T, S]"));
    SHUNT_TRY(expect_f32_of("beta", *sources[4], {1, heads, tokens, sequences}, "[1, H, T, S]"));
    SHUNT_TRY(expect_finite("scale", params.scale));
    return infer_recurrence(info(), sources, kStates,
                            {{key_size, value_size, heads}, value_size, heads, key_size});
  }

  void plain_reference(RefSources sources, const GatedDeltaNetParams& params,
                       RefTensor& result) const override {
    const RefTensor& q = *sources[0];
    const RefTensor& k = *sources[1];
    const RefTensor& v = *sources[2];
    const RefTensor& gate = *sources[3];
    const RefTensor& beta = *sources[4];
    const std::int64_t value_size = v.sizes[0];
    const std::int64_t heads = v.sizes[1];
    for (std::int64_t s = 0; s < RefRecurrence::count(sources, kStates); ++s) {
      RefRecurrence sequence(sources, kStates, s, result);
      const std::int64_t column = sequence.column();
      for (std::int64_t t = sequence.first(); t < sequence.end(); ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          const std::int64_t g = h / (heads / k.sizes[1]);
          for (std::int64_t j = 0; j < value_size; ++j) {
            double found = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              sequence.state(i, j, h) *= std::exp(gate.at(i % gate.sizes[0], h, t, column));
              found += k.at(i, g, t, column) * sequence.state(i, j, h);
            }
            const double d = beta.at(0, h, t, column) * (v.at(j, h, t, column) - found);
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              sequence.state(i, j, h) += k.at(i, g, t, column) * d;
              y += q.at(i, g, t, column) * sequence.state(i, j, h);
            }
            sequence.output(h * value_size + j, t) = params.scale * y;
          }
        }
      }
      sequence.finish();
    }
  }

  /// 7 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 7.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[2]->shape));
  }

 private:
  static constexpr StatesSource kStates = {5};
};

}  // namespace

const Op& gated_delta_net_op() {
  static const GatedDeltaNet kOp;
  return kOp;
}

Result<Recurrence> gated_delta_net(GraphBuilder& g, Operand q, Operand k, Operand v, Operand gate,
                                   Operand beta, Operand states, Operand ids,
                                   GatedDeltaNetParams params, Operand ends) {
  const Result<Value> result = g.apply(gated_delta_net_op(), Params::of(params),
                                       {&q, &k, &v, &gate, &beta, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*v).shape, g.tensor(*states).shape});
}

}  // namespace shunt
