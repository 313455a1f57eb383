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
            "result is [V * H, T + K, S]: the outputs, then the states. All floats are F32.",
        .sources = {"q", "k", "v", "gate", "states", "ids?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const GatedLinearAttnParams& params) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 3}, 2));
    SHUNT_TRY(expect_finite("scale", params.scale));
    const Tensor& v = *sources[2];
    const auto& [value_size, heads, tokens, sequences] = v.shape;
    const Dim& key_size = sources[0]->shape[0];
    SHUNT_TRY(expect_states(*sources[4], {value_size, key_size, heads}, 3, sources[5], sequences));
    return infer_recurrence(value_size, heads, tokens, key_size.max, sequences);
  }

  void plain_reference(RefSources sources, const GatedLinearAttnParams& params,
                       RefTensor& result) const override {
    const RefTensor& q = *sources[0];
    const RefTensor& k = *sources[1];
    const RefTensor& v = *sources[2];
    const RefTensor& gate = *sources[3];
    const auto& [value_size, heads, tokens, sequences] = v.sizes;
    for (std::int64_t s = 0; s < sequences; ++s) {
      RefRecurrence sequence(*sources[4], 3, sources[5], s, result);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t j = 0; j < value_size; ++j) {
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              double& state = sequence.state(j, i, h);
              state = gate.at(i, h, t, s) * state + k.at(i, h, t, s) * v.at(j, h, t, s);
              y += q.at(i, h, t, s) * state;
            }
            sequence.output(h * value_size + j, t) = params.scale * y;
          }
        }
      }
      sequence.finish(tokens);
    }
  }

  /// 5 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 5.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[2]->shape));
  }
};

}  // namespace

const Op& gated_linear_attn_op() {
  static const GatedLinearAttn kOp;
  return kOp;
}

Result<Recurrence> gated_linear_attn(GraphBuilder& g, Operand q, Operand k, Operand v, Operand gate,
                                     Operand states, Operand ids, GatedLinearAttnParams params) {
  const Result<Value> result =
      g.apply(gated_linear_attn_op(), Params::of(params), {&q, &k, &v, &gate, &states, &ids});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, {g.tensor(*v).shape, 2, g.tensor(*states).shape, 3});
}

}  // namespace shunt
