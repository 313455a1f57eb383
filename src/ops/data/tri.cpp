#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

class Tri final : public Differentiable<TriParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "tri",
        .family = "data",
        .summary =
            "A triangle of each matrix, 0 elsewhere: y[i, j] = x[i, j] where i < j (lower) "
            "or i > j (upper), for column i of row j, and where i = j if `diagonal`.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const TriParams&) const override {
    SHUNT_TRY(expect_plain_type("x", *sources[0]));
    return contiguous(sources[0]->dtype, sources[0]->shape);
  }

  void plain_reference(RefSources sources, const TriParams& params,
                       RefTensor& result) const override {
    for_each_element(result.sizes, [&](const Sizes& i) {
      const bool kept = i[0] == i[1]                          ? params.diagonal
                        : params.triangle == Triangle::kLower ? i[0] < i[1]
                                                              : i[0] > i[1];
      at(result, i) = kept ? at(*sources[0], i) : 0;
    });
  }

  Status gradient_rule(Backward& node, const TriParams& params) const override {
    return node.give(0, tri(node.g, node.dy(), params));
  }

  void cases(const CaseSink& sink) const override {
    for (const Triangle triangle : {Triangle::kLower, Triangle::kUpper}) {
      for (const bool diagonal : {true, false}) {
        const Params params = Params::of(TriParams{triangle, diagonal});
        const auto emit = [&](const CaseSource& x) {
          sink({.name = fmt::format("{} {}", describe_source(x), describe(params)),
                .params = params,
                .sources = {x},
                .max_error = 0});
        };
        for (const CaseSource& x : unary_sources(DType::kF32)) emit(x);
        for (DType type : kPlainTypes) {
          emit(source_of(type, {9, 9, 2, 3}));
          emit(seen_as(type, {12, 7, 2, 1}, {1, 0, 2, 3}));
        }
        emit(source_of(DType::kF16, {3, 70, 1, 1}));
        emit(source_of(DType::kF32, {4100, 3, 1, 1}));
      }
    }
  }
};

}  // namespace

std::string_view to_string(Triangle triangle) {
  return triangle == Triangle::kLower ? "lower" : "upper";
}

const Op& tri_op() {
  static const Tri kOp;
  return kOp;
}

Result<Value> tri(GraphBuilder& g, Operand x, TriParams params) {
  return g.apply(tri_op(), Params::of(params), {&x});
}

}  // namespace shunt
