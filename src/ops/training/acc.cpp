#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class Acc final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "acc",
        .family = "training",
        .summary = "Adds in place: dst = dst + x. A window of a larger tensor is a view of it.",
        .sources = {"dst", "x"},
        .storage = Storage::kIntoFirst,
        .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    return Inferred{*sources[0]};
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = at(*sources[0], i) + at(*sources[1], i);
    });
  }

  void cases(const CaseSink& sink) const override {
    pair_cases(*this, sink, {.params = {Params::of(NoParams{})}});
  }
};

}  // namespace

const Op& acc_op() {
  static const Acc kOp;
  return kOp;
}

Result<Value> acc(GraphBuilder& g, Operand dst, Operand x) {
  return g.apply(acc_op(), Params::of(NoParams{}), {&dst, &x});
}

}  // namespace shunt
