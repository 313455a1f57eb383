#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

class GatedLinearAttn final : public OpWith<GatedLinearAttnParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "gated_linear_attn",
        .family = "state",
        .summary =
            "Gated linear attention (arXiv 2312.06635), for each head: state[v, k] = gate[k] * "
            "state[v, k] + key[k] * value[v]; y[v] = scale * sum over k of q[k] * state[v, k]. The "
            "result is [V * H, T + K, S]: the outputs, then the states. With ends it is [V * H, T "
            "+ K * S, 1], and sequence s has tokens ends[s - 1] to ends[s] - 1. All floats are "
            "F32.",
        .sources = {"q", "k", "v", "gate", "states", "ids?", "ends?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const GatedLinearAttnParams& params) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 3}, 2));
    SHUNT_TRY(expect_finite("scale", params.scale));
    const Tensor& v = *sources[2];
    const Dim& value_size = v.shape[0];
    const Dim& heads = v.shape[1];
    const Dim& key_size = sources[0]->shape[0];
    return infer_recurrence(info(), sources, kStates,
                            {{value_size, key_size, heads}, value_size, heads, key_size});
  }

  void plain_reference(RefSources sources, const GatedLinearAttnParams& params,
                       RefTensor& result) const override {
    const RefTensor& q = *sources[0];
    const RefTensor& k = *sources[1];
    const RefTensor& v = *sources[2];
    const RefTensor& gate = *sources[3];
    const std::int64_t value_size = v.sizes[0];
    const std::int64_t heads = v.sizes[1];
    for (std::int64_t s = 0; s < RefRecurrence::count(sources, kStates); ++s) {
      RefRecurrence sequence(sources, kStates, s, result);
      const std::int64_t column = sequence.column();
      for (std::int64_t t = sequence.first(); t < sequence.end(); ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t j = 0; j < value_size; ++j) {
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              double& state = sequence.state(j, i, h);
              state =
                  gate.at(i, h, t, column) * state + k.at(i, h, t, column) * v.at(j, h, t, column);
              y += q.at(i, h, t, column) * state;
            }
            sequence.output(h * value_size + j, t) = params.scale * y;
          }
        }
      }
      sequence.finish();
    }
  }

  /// 5 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 5.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[2]->shape));
  }

 private:
  static constexpr StatesSource kStates = {4};
};

}  // namespace

const Op& gated_linear_attn_op() {
  static const GatedLinearAttn kOp;
  return kOp;
}

Result<Recurrence> gated_linear_attn(GraphBuilder& g, Operand q, Operand k, Operand v, Operand gate,
                                     Operand states, Operand ids, GatedLinearAttnParams params,
                                     Operand ends) {
  const Result<Value> result = g.apply(gated_linear_attn_op(), Params::of(params),
                                       {&q, &k, &v, &gate, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*v).shape, g.tensor(*states).shape});
}

}  // namespace shunt
