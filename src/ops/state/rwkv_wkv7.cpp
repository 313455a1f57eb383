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
            "k of r[k] * state[k, v]. The result is [V * H, T + K, S]: the outputs, then the "
            "states. With ends it is [V * H, T + K * S, 1], and sequence s has tokens ends[s - 1] "
            "to ends[s] - 1. All floats are F32.",
        .sources = {"r", "w", "k", "v", "a", "b", "states", "ids?", "ends?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_keys_and_values(info(), sources, {0, 1, 2, 4, 5}, 3));
    const Tensor& v = *sources[3];
    const Dim& value_size = v.shape[0];
    const Dim& heads = v.shape[1];
    const Dim& key_size = sources[0]->shape[0];
    return infer_recurrence(info(), sources, kStates,
                            {{key_size, value_size, heads}, value_size, heads, key_size});
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    const RefTensor& r = *sources[0];
    const RefTensor& w = *sources[1];
    const RefTensor& k = *sources[2];
    const RefTensor& v = *sources[3];
    const RefTensor& a = *sources[4];
    const RefTensor& b = *sources[5];
    const std::int64_t value_size = v.sizes[0];
    const std::int64_t heads = v.sizes[1];
    for (std::int64_t s = 0; s < RefRecurrence::count(sources, kStates); ++s) {
      RefRecurrence sequence(sources, kStates, s, result);
      const std::int64_t column = sequence.column();
      for (std::int64_t t = sequence.first(); t < sequence.end(); ++t) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t j = 0; j < value_size; ++j) {
            double sa = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              sa += a.at(i, h, t, column) * sequence.state(i, j, h);
            }
            double y = 0;
            for (std::int64_t i = 0; i < k.sizes[0]; ++i) {
              double& state = sequence.state(i, j, h);
              state = w.at(i, h, t, column) * state +
                      k.at(i, h, t, column) * v.at(j, h, t, column) + b.at(i, h, t, column) * sa;
              y += r.at(i, h, t, column) * state;
            }
            sequence.output(h * value_size + j, t) = y;
          }
        }
      }
      sequence.finish();
    }
  }

  /// 9 operations for each element of the state and token.
  double operations(const Tensor&, SourceTensors sources, const Params&) const override {
    return 9.0 * static_cast<double>(sources[0]->size(0)) *
           static_cast<double>(element_count(sources[3]->shape));
  }

 private:
  static constexpr StatesSource kStates = {6};
};

}  // namespace

const Op& rwkv_wkv7_op() {
  static const RwkvWkv7 kOp;
  return kOp;
}

Result<Recurrence> rwkv_wkv7(GraphBuilder& g, Operand r, Operand w, Operand k, Operand v, Operand a,
                             Operand b, Operand states, Operand ids, Operand ends) {
  const Result<Value> result = g.apply(rwkv_wkv7_op(), Params::of(NoParams{}),
                                       {&r, &w, &k, &v, &a, &b, &states, &ids, &ends});
  if (!result) return Error(result.error());
  return recurrence_parts(g, result, ends, {g.tensor(*v).shape, g.tensor(*states).shape});
}

}  // namespace shunt
