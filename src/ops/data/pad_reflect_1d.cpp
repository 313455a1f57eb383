#include <cstdlib>

#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

class PadReflect final : public OpWith<PadReflectParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "pad_reflect_1d",
        .family = "data",
        .summary =
            "Rows of n elements, padded by reflection at both ends: y[i] = x[|i - before|], "
            "and x[2 (n - 1) - (i - before)] from i = before + n on.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const PadReflectParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_plain_type("x", x));
    const Dim& n = x.shape[0];
    if (!n.is_fixed()) {
      return invalid("dimension 0 of x is {}, a dynamic dimension, but must be fixed",
                     to_string(n));
    }
    const auto fits = [&](std::int64_t added) {
      return added == 0 || (added > 0 && added < n.max);
    };
    if (!fits(params.before) || !fits(params.after)) {
      return invalid(
          "{} elements before and {} after rows of {}: both must be at least 0, and "
          "fewer than a row has",
          params.before, params.after, to_string(n));
    }
    if (n.max > kMaxSize - params.before - params.after) {
      return invalid("{} elements before and {} after rows of {} are more than 63 bits",
                     params.before, params.after, to_string(n));
    }
    Shape shape = x.shape;
    shape[0] = params.before + n.max + params.after;
    return contiguous(x.dtype, shape);
  }

  void plain_reference(RefSources sources, const PadReflectParams& params,
                       RefTensor& result) const override {
    const std::int64_t last = sources[0]->sizes[0] - 1;
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = i;
      j[0] = std::abs(i[0] - params.before);
      if (i[0] - params.before > last) j[0] = 2 * last - (i[0] - params.before);
      at(result, i) = at(*sources[0], j);
    });
  }
};

}  // namespace

const Op& pad_reflect_1d_op() {
  static const PadReflect kOp;
  return kOp;
}

Result<Value> pad_reflect_1d(GraphBuilder& g, Operand x, PadReflectParams params) {
  return g.apply(pad_reflect_1d_op(), Params::of(params), {&x});
}

}  // namespace shunt
