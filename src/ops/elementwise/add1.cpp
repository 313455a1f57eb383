#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"

namespace shunt {

namespace {

class Add1 final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "add1",
                                 .family = "elementwise",
                                 .summary = "A single number added to each element: y = a + s.",
                                 .sources = {"a", "s"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& a = *sources[0];
    const Tensor& s = *sources[1];
    SHUNT_TRY(expect_float_type("a", a));
    SHUNT_TRY(expect_float_type("s", s));
    SHUNT_TRY(expect_number("s", s));
    return contiguous(a.dtype, a.shape);
  }

  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      at(result, i) = at(*sources[0], i) + sources[1]->at(0);
    });
  }

  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.give(0, node.dy()));
    return node.wants(1) ? node.give(1, sum(node.g, node.dy())) : ok();
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& a, const CaseSource& s) {
      const std::vector<CaseSource> sources = {a, s};
      sink({.name = describe_sources(sources),
            .params = Params::of(NoParams{}),
            .sources = sources,
            .max_error = float_error(a.dtype, kElementError)});
    };
    for (DType type : kFloatTypes) {
      for (const CaseSource& a : unary_sources(type)) emit(a, source_of(type, {1, 1, 1, 1}));
      for (DType of_s : kFloatTypes) {
        emit(source_of(type, {5000, 3, 1, 1}), source_of(of_s, {1, 1, 1, 1}));
      }
      emit(source_of(type, {33, 2, 1, 1}), seen_as(type, {1, 1, 1, 1}, {1, 0, 2, 3}, {3, 2, 0, 0}));
    }
  }
};

}  // namespace

const Op& add1_op() {
  static const Add1 kOp;
  return kOp;
}

Result<Value> add1(GraphBuilder& g, Operand a, Operand s) {
  return g.apply(add1_op(), Params::of(NoParams{}), {&a, &s});
}

}  // namespace shunt
