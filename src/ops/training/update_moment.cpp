#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class UpdateMoment final : public OpWith<UpdateMomentParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "update_moment",
                                 .family = "training",
                                 .summary =
                                     "Moving average of a power, in place: m = beta * m + (1 - "
                                     "beta) * x^power. All floats are F32.",
                                 .sources = {"m", "x"},
                                 .storage = Storage::kIntoFirst,
                                 .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const UpdateMomentParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    if (!(params.beta >= 0 && params.beta <= 1)) {
      return invalid("beta is {}, which is not a number from 0 to 1", params.beta);
    }
    if (params.power != 1 && params.power != 2) {
      return invalid("power is {}, which is neither 1 nor 2", params.power);
    }
    return Inferred{*sources[0]};
  }

  void plain_reference(RefSources sources, const UpdateMomentParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double x = at(*sources[1], i);
      at(result, i) = params.beta * at(*sources[0], i) +
                      (1 - static_cast<double>(params.beta)) * (params.power == 2 ? x * x : x);
    });
  }
};

}  // namespace

const Op& update_moment_op() {
  static const UpdateMoment kOp;
  return kOp;
}

Result<Value> update_moment(GraphBuilder& g, Operand m, Operand x, UpdateMomentParams params) {
  return g.apply(update_moment_op(), Params::of(params), {&m, &x});
}

}  // namespace shunt
