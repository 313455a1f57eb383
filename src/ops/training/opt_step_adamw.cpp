#include <cmath>
#include <utility>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/training/pairs.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

class OptStepAdamw final : public OpWith<AdamwParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {.name = "opt_step_adamw",
                                 .family = "training",
                                 .summary =
                                     "A step of AdamW (arXiv 1711.05101), in place, once "
                                     "update_moment has put the gradient into m and "
                                     "v: w = w - rate * (m / (1 - beta1^step) / (sqrt(v / (1 - "
                                     "beta2^step)) + eps) + weight_decay * w). "
                                     "A run with a step below 1 fails. All floats are F32.",
                                 .sources = {"w", "m", "v", "rate", "step"},
                                 .storage = Storage::kIntoFirst,
                                 .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const AdamwParams& params) const override {
    SHUNT_TRY(expect_pair(info(), sources, 0, 1));
    SHUNT_TRY(expect_pair(info(), sources, 0, 2));
    SHUNT_TRY(expect_type("rate", *sources[3], {DType::kF32}));
    SHUNT_TRY(expect_number("rate", *sources[3]));
    SHUNT_TRY(expect_type("step", *sources[4], {DType::kI32}));
    SHUNT_TRY(expect_number("step", *sources[4]));
    for (const auto& [name, beta] : {std::pair("beta1", params.beta1), {"beta2", params.beta2}}) {
      if (beta >= 0 && beta < 1) continue;
      return invalid("{} is {}, which is not a number from 0 to below 1", name, beta);
    }
    SHUNT_TRY(expect_positive("eps", params.eps));
    SHUNT_TRY(expect_not_negative("weight_decay", params.weight_decay));
    return Inferred{*sources[0]};
  }

  void plain_reference(RefSources sources, const AdamwParams& params,
                       RefTensor& result) const override {
    const double rate = sources[3]->at(0);
    const double step = sources[4]->at(0);
    const double m_bias = 1 - std::pow(params.beta1, step);
    const double v_bias = 1 - std::pow(params.beta2, step);
    for_each_element(result.sizes, [&](const Sizes& i) {
      const double w = at(*sources[0], i);
      const double m = at(*sources[1], i) / m_bias;
      const double v = at(*sources[2], i) / v_bias;
      at(result, i) = w - rate * (m / (std::sqrt(v) + params.eps) + params.weight_decay * w);
    });
  }

  void cases(const CaseSink& sink) const override {
    for (std::int64_t step : {1, 2, 1000}) {
      // v is filled with squares: it is never negative.
      const CaseSource rate =
          filled(source_of(DType::kF32, {1, 1, 1, 1}), Fill::kUniform, 0.01, 0.5);
      const auto at_step = static_cast<double>(step);
      const CaseSource steps =
          filled(source_of(DType::kI32, {1, 1, 1, 1}), Fill::kIndex, at_step, at_step + 1);
      const auto emit = [&](const CaseSource& w, const CaseSource& m, const CaseSource& v,
                            const AdamwParams& params) {
        const std::vector<CaseSource> sources = {w, m, filled(v, Fill::kUniform, 0.01, 4), rate,
                                                 steps};
        const Params given = Params::of(params);
        sink(
            {.name = describe_sources(sources, fmt::format("at step {} {}", step, describe(given))),
             .params = given,
             .sources = sources,
             .max_error = kElementError});
      };
      constexpr AdamwParams kDecay = {.weight_decay = 0.1F};
      for (const CaseSource& w : unary_sources(DType::kF32)) {
        const CaseSource plain = source_of(DType::kF32, sizes_of(w));
        emit(w, plain, plain, kDecay);
      }
      const Sizes sizes = {33, 4, 3, 2};
      const CaseSource w = source_of(DType::kF32, sizes);
      emit(w, seen_as(DType::kF32, sizes, {1, 0, 2, 3}),
           seen_as(DType::kF32, sizes, {0, 2, 1, 3}, {1, 1, 0, 0}), kDecay);
      emit(w, seen_as(DType::kF32, sizes, {0, 2, 1, 3}, {1, 1, 0, 0}),
           seen_as(DType::kF32, sizes, {1, 0, 2, 3}), kDecay);
      emit(w, w, w, {});
      emit(w, w, w, {.beta1 = 0, .beta2 = 0.5F, .eps = 0.1F});
    }
  }
};

}  // namespace

const Op& opt_step_adamw_op() {
  static const OptStepAdamw kOp;
  return kOp;
}

Result<Value> opt_step_adamw(GraphBuilder& g, Operand w, Operand gradient, Operand m, Operand v,
                             Operand rate, Operand step, AdamwParams params) {
  const auto mean = update_moment(g, m, gradient, {.beta = params.beta1, .power = 1});
  const auto square = update_moment(g, v, gradient, {.beta = params.beta2, .power = 2});
  return g.apply(opt_step_adamw_op(), Params::of(params), {&w, &mean, &square, &rate, &step});
}

}  // namespace shunt
