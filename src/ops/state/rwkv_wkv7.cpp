#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

class RwkvWkv7 final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "rwkv_wkv7",
        .family = "state",
        .summary =
            "RWKV-7 (arXiv 2503.14456), for each head: sa[v] = sum over k of a[k] * state[k, v]; "
            "state[k, v] = w[k] * state[k, v] + key[k] * value[v] + b[k] * sa[v]; y[v] = sum over "
            "k "
            "of r[k] * state[k, v]. The result is [V * H, T + K, S]: the outputs, then the states. "
            "All floats are F32.",
        .sources = {"r", "w", "k", "v", "a", "b", "states", "ids?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 2, 4, 5}, 3));
    const Tensor& v = *sources[3];
    const auto& [value_size, heads, tokens, sequences] = v.shape;
    const Dim& key_size = sources[0]->shape[0];
    SHUNT_TRY(expect_states(*sources[6], {key_size, value_size, heads}, 3, sources[7], sequences));
    return infer_recurrence(value_size, heads, tokens, key_size.max, sequences);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& r = *sources[0];
    const RefTensor& w = *sources[1];
    const RefTensor& k = *sources[2];
    const RefTensor& v = *sources[3];
    const RefTensor& a = *sources[4];
    const RefTensor& b = *sources[5];
    const auto& [value_size, heads, tokens, sequences] = v.sizes;
    for (std::int64_t s = 0; s < sequences; ++s) {
      RefRecurrence sequence(*sources[6], 3, sources[7], s, result);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t j = 0; j < value_size; ++j) {
            double sa = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              sa += a.at(i, h, t, s) * sequence.state(i, j, h);
            }
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              double& state = sequence.state(i, j, h);
              state = w.at(i, h, t, s) * state + k.at(i, h, t, s) * v.at(j, h, t, s) +
                      b.at(i, h, t, s) * sa;
              y += r.at(i, h, t, s) * state;
            }
            sequence.output(h * value_size + j, t) = y;
          }
        }
      }
      sequence.finish(tokens);
    }
  }

  /// 9 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 9.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[3]->shape));
  }
};

}  // namespace

const Op& rwkv_wkv7_op() {
  static const RwkvWkv7 kOp;
  return kOp;
}

Result<Recurrence> rwkv_wkv7(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand a,
                             Operand b, Operand states, Operand ids) {
  const Result<Value> result =
      g.apply(rwkv_wkv7_op(), Params::of(NoParams{}), {&r, &w, &k, &v, &a, &b, &states, &ids});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, {g.tensor(*v).shape, 2, g.tensor(*states).shape, 3});
}

}  // namespace shunt
