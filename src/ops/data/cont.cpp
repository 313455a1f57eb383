#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Cont final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "cont",
                                 .family = "data",
                                 .summary = "A copy that is contiguous in memory: y[i] = x[i].",
                                 .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    return contiguous(sources[0]->dtype, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    result.data = sources[0]->data;
  }

  void cases(const CaseSink& sink) const override {
    for (const DTypeTrait& type : dtypes()) {
      for (const CaseSource& x : unary_sources(type.dtype)) {
        sink({.name = describe_source(x),
              .params = Params::of(NoParams{}),
              .sources = {x},
              .max_error = 0});
      }
    }
  }
};

}  // namespace

const Op& cont_op() {
  static const Cont kOp;
  return kOp;
}

Result<Value> cont(GraphBuilder& g, Operand x) {
  return g.apply(cont_op(), Params::of(NoParams{}), {&x});
}

}  // namespace shunt
