#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/training/training.h"

namespace shunt {

namespace {

/// Two sources of one shape. Every shape and stride comes with the first of `params`, plain ones
/// with all. `b` fills the second source; `before` and `after` are the sources around the pair.
struct PairCases {
  std::vector<Params> params = {};
  std::array<DType, 2> types = {DType::kF32, DType::kF32};
  Fill b = Fill::kNormal;
  double b_low = 0;
  double b_high = 1;
  std::vector<CaseSource> before = {};
  std::vector<CaseSource> after = {};
  double max_error = kElementError;
};

void pair_cases(const Op& op, const CaseSink& sink, const PairCases& how) {
  const auto& [ta, tb] = how.types;
  const auto emit = [&](const CaseSource& a, const CaseSource& b, const Params& params) {
    std::vector<CaseSource> sources = how.before;
    sources.push_back(a);
    sources.push_back(filled(b, how.b, how.b_low, how.b_high));
    sources.insert(sources.end(), how.after.begin(), how.after.end());
    emit_case(sink, params, sources, how.max_error, op.describe(params));
  };
  for (const CaseSource& a : unary_sources(ta)) {
    emit(a, source_of(tb, sizes_of(a)), how.params[0]);
  }
  const Sizes sizes = {33, 4, 3, 2};
  const CaseSource plain = source_of(ta, sizes);
  emit(plain, seen_as(tb, sizes, {1, 0, 2, 3}), how.params[0]);
  emit(plain, seen_as(tb, sizes, {0, 2, 1, 3}, {3, 1, 0, 1}), how.params[0]);
  emit(seen_as(ta, sizes, {2, 1, 0, 3}), seen_as(tb, sizes, {1, 2, 0, 3}), how.params[0]);
  for (const Params& params : how.params) {
    for (const Sizes& each : {Sizes{2, 1, 1, 1}, Sizes{300, 3, 1, 1}, Sizes{5000, 2, 1, 1}}) {
      emit(source_of(ta, each), source_of(tb, each), params);
    }
  }
}

void acc_cases(const Op& op, const CaseSink& sink) {
  for (const DType dst : kFloatTypes) {
    for (const DType x : kFloatTypes) {
      pair_cases(op, sink,
                 {.params = {Params::of(NoParams{})},
                  .types = {dst, x},
                  .max_error = float_error(dst, kElementError)});
    }
  }
}

void cross_entropy_loss_cases(const Op& op, const CaseSink& sink) {
  pair_cases(op, sink,
             {.params = {Params::of(NoParams{})},
              .b = Fill::kUniform,
              .b_low = 0,
              .b_high = 0.1,
              .max_error = kSumError});
  const CaseSource logits = source_of(DType::kF32, {100, 5, 1, 1});
  sink(
      {.name = "hard labels and logits whose exponentials overflow",
       .params = Params::of(NoParams{}),
       .sources = {filled(logits, Fill::kUniform, -500, 500), filled(logits, Fill::kIndex, 0, 2)}});
}

void cross_entropy_loss_back_cases(const Op& op, const CaseSink& sink) {
  pair_cases(op, sink,
             {.params = {Params::of(NoParams{})},
              .b = Fill::kUniform,
              .b_low = 0,
              .b_high = 0.1,
              .before = {source_of(DType::kF32, {1, 1, 1, 1})},
              .max_error = kSumError});
  const CaseSource logits = source_of(DType::kF32, {100, 5, 1, 1});
  sink({.name = "hard labels and logits whose exponentials overflow",
        .params = Params::of(NoParams{}),
        .sources = {source_of(DType::kF32, {1, 1, 1, 1}), filled(logits, Fill::kUniform, -500, 500),
                    filled(logits, Fill::kIndex, 0, 2)}});
}

void opt_step_sgd_cases(const Op& op, const CaseSink& sink) {
  pair_cases(op, sink,
             {.params = {Params::of(SgdParams{0.1F}), Params::of(SgdParams{})},
              .after = {filled(source_of(DType::kF32, {1, 1, 1, 1}), Fill::kUniform, 0.01, 0.5)}});
}

void rms_norm_back_cases(const Op& op, const CaseSink& sink) {
  pair_cases(op, sink,
             {.params = {Params::of(RmsNormParams{1e-5F}), Params::of(RmsNormParams{0.1F})},
              .max_error = kSumError});
}

void silu_back_cases(const Op& op, const CaseSink& sink) {
  pair_cases(op, sink, {.params = {Params::of(NoParams{})}});
  for (double end : {20, 200}) {
    const CaseSource dy = source_of(DType::kF32, {333, 3, 1, 1});
    sink({.name = fmt::format("from {} to {}", -end, end),
          .params = Params::of(NoParams{}),
          .sources = {dy, filled(dy, Fill::kUniform, -end, end)},
          .max_error = kElementError});
  }
}

void softmax_back_cases(const Op& op, const CaseSink& sink) {
  // Approximately rows of probabilities.
  pair_cases(op, sink,
             {.params = {Params::of(SoftmaxParams{1}), Params::of(SoftmaxParams{0.125F}),
                         Params::of(SoftmaxParams{-2})},
              .b = Fill::kUniform,
              .b_low = 0,
              .b_high = 0.05,
              .max_error = kSumError});
}

void update_moment_cases(const Op& op, const CaseSink& sink) {
  // 1 - beta is rounded to F32 and may have few significant bits.
  pair_cases(op, sink,
             {.params = {Params::of(UpdateMomentParams{0.9F, 1}),
                         Params::of(UpdateMomentParams{0.999F, 2}),
                         Params::of(UpdateMomentParams{0, 2})}});
}

}  // namespace

CaseList training_pairs_cases_list() {
  static constexpr OpCases kCases[] = {
      {acc_op, acc_cases},
      {cross_entropy_loss_op, cross_entropy_loss_cases},
      {cross_entropy_loss_back_op, cross_entropy_loss_back_cases},
      {opt_step_sgd_op, opt_step_sgd_cases},
      {rms_norm_back_op, rms_norm_back_cases},
      {silu_back_op, silu_back_cases},
      {softmax_back_op, softmax_back_cases},
      {update_moment_op, update_moment_cases},
  };
  return kCases;
}

}  // namespace shunt
