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
            "The result is [V * H, T + K, S]: the outputs, then the states. With ends it is [V * "
            "H, T + K * S, 1], and sequence s has tokens ends[s - 1] to ends[s] - 1. All floats "
            "are F32.",
        .sources = {"r", "w", "k", "v", "u", "states", "ids?", "ends?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 2}, 3));
    const Shape& keys = sources[0]->shape;
    SHUNT_TRY(expect_f32_of("u", *sources[4], {keys[0], keys[1], 1, 1}, "[K, H]"));
    const Tensor& v = *sources[3];
    const Dim& value_size = v.shape[0];
    const Dim& heads = v.shape[1];
    const Dim& key_size = sources[0]->shape[0];
    return infer_recurrence(info(), sources, kStates,
                            {{value_size, key_size, heads}, value_size, heads, key_size});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& r = *sources[0];
    const RefTensor& w = *sources[1];
    const RefTensor& k = *sources[2];
    const RefTensor& v = *sources[3];
    const RefTensor& u = *sources[4];
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
              const double product = k.at(i, h, t, column) * v.at(j, h, t, column);
              y += r.at(i, h, t, column) * (state + u.at(i, h) * product);
              state = w.at(i, h, t, column) * state + product;
            }
            sequence.output(h * value_size + j, t) = y;
          }
        }
      }
      sequence.finish();
    }
  }

  /// 6 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 6.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[3]->shape));
  }

 private:
  static constexpr StatesSource kStates = {5};
};

}  // namespace

const Op& rwkv_wkv6_op() {
  static const RwkvWkv6 kOp;
  return kOp;
}

Result<Recurrence> rwkv_wkv6(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand u,
                             Operand states, Operand ids, Operand ends) {
  const Result<Value> result =
      g.apply(rwkv_wkv6_op(), Params::of(NoParams{}), {&r, &w, &k, &v, &u, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*v).shape, g.tensor(*states).shape});
}

}  // namespace shunt
