#include "ops/common/checks.h"
#include "ops/state/recurrence.h"

namespace shunt {

namespace {

class RwkvWkv6 final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "rwkv_wkv6",
        .family = "state",
        .summary =
            "RWKV-6 (arXiv 2404.05892), for each head: y[v] = sum over k of r[k] * (state[v, k] + "
            "u[k] * key[k] * value[v]), then state[v, k] = w[k] * state[v, k] + key[k] * value[v]. "
            "The result is [V * H, T + K, S]: the outputs, then the states. All floats are F32.",
        .sources = {"r", "w", "k", "v", "u", "states", "ids?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 2}, 3));
    const Shape& keys = sources[0]->shape;
    SHUNT_TRY(expect_f32_of("u", *sources[4], {keys[0], keys[1], 1, 1}, "[K, H]"));
    const Tensor& v = *sources[3];
    const auto& [value_size, heads, tokens, sequences] = v.shape;
    const Dim& key_size = sources[0]->shape[0];
    SHUNT_TRY(expect_states(*sources[5], {value_size, key_size, heads}, 3, sources[6], sequences));
    return infer_recurrence(value_size, heads, tokens, key_size.max, sequences);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& r = *sources[0];
    const RefTensor& w = *sources[1];
    const RefTensor& k = *sources[2];
    const RefTensor& v = *sources[3];
    const RefTensor& u = *sources[4];
    const auto& [value_size, heads, tokens, sequences] = v.sizes;
    for (std::int64_t s = 0; s < sequences; ++s) {
      RefRecurrence sequence(*sources[5], 3, sources[6], s, result);
      for (std::int64_t t = 0; t < tokens; ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t j = 0; j < value_size; ++j) {
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              double& state = sequence.state(j, i, h);
              const double product = k.at(i, h, t, s) * v.at(j, h, t, s);
              y += r.at(i, h, t, s) * (state + u.at(i, h) * product);
              state = w.at(i, h, t, s) * state + product;
            }
            sequence.output(h * value_size + j, t) = y;
          }
        }
      }
      sequence.finish(tokens);
    }
  }

  /// 6 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 6.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[3]->shape));
  }
};

}  // namespace

const Op& rwkv_wkv6_op() {
  static const RwkvWkv6 kOp;
  return kOp;
}

Result<Recurrence> rwkv_wkv6(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand u,
                             Operand states, Operand ids) {
  const Result<Value> result =
      g.apply(rwkv_wkv6_op(), Params::of(NoParams{}), {&r, &w, &k, &v, &u, &states, &ids});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, {g.tensor(*v).shape, 2, g.tensor(*states).shape, 3});
}

}  // namespace shunt
