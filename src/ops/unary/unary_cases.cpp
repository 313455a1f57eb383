#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/unary/unary.h"

namespace shunt {

namespace {

void clamp_cases(const Op& op, const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      for (const ClampParams& params :
           {ClampParams{}, ClampParams{-0.5F, std::numeric_limits<float>::infinity()}}) {
        emit_case(sink, Params::of(params), {x}, float_error(type, kElementError),
                  op.describe(Params::of(params)));
      }
    }
  }
}

void leaky_relu_cases(const Op& op, const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      for (const LeakyReluParams& params : {LeakyReluParams{}, LeakyReluParams{-0.5F}}) {
        emit_case(sink, Params::of(params), {x}, float_error(type, kElementError),
                  op.describe(Params::of(params)));
      }
    }
  }
}

void emit_xielu(const CaseSink& sink, const CaseSource& x, const XieluParams& params) {
  emit_case(sink, Params::of(params), {x}, float_error(x.dtype, kElementError),
            xielu_op().describe(Params::of(params)));
}

void xielu_cases(const Op&, const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      emit_xielu(sink, x, {});
      if (type != DType::kF32) continue;
      emit_xielu(sink, x, {.alpha_n = 1.5F, .alpha_p = -2, .beta = 0.25F});
      emit_xielu(sink, filled(x, Fill::kUniform, -50, 50), {.alpha_n = -0.7F, .alpha_p = 0.3F});
    }
    emit_xielu(sink, source_of(type, {64, 3, 1, 1}),
               {.alpha_n = 1, .alpha_p = 30, .beta = 1, .eps = -0.5F});
  }
}

/// A function of one element, and the range of its sources.
struct UnaryRange {
  const Op& (*op)();
  double low, high;
};

constexpr UnaryRange kUnaryRanges[] = {
    {abs_op, -6, 6},          {ceil_op, -6, 6},        {cos_op, -100, 100},
    {elu_op, -20, 20},        {exp_op, -80, 80},       {expm1_op, -20, 20},
    {floor_op, -6, 6},        {gelu_op, -12, 12},      {gelu_erf_op, -12, 12},
    {gelu_quick_op, -12, 12}, {hardsigmoid_op, -6, 6}, {hardswish_op, -6, 6},
    {log_op, 0.01, 50},       {neg_op, -6, 6},         {relu_op, -6, 6},
    {round_op, -6, 6},        {sgn_op, -6, 6},         {sigmoid_op, -100, 100},
    {silu_op, -200, 200},     {sin_op, -100, 100},     {softplus_op, -100, 100},
    {sqr_op, -6, 6},          {sqrt_op, 0, 50},        {step_op, -6, 6},
    {tanh_op, -12, 12},       {trunc_op, -6, 6},
};

void unary_cases(const Op& op, const CaseSink& sink) {
  const auto* range =
      std::ranges::find_if(kUnaryRanges, [&](const UnaryRange& row) { return &row.op() == &op; });
  const auto& [op_of_range, low, high] = *range;
  const auto emit = [&](const CaseSource& x, std::string_view extra) {
    emit_case(sink, Params::of(NoParams{}), {x}, float_error(x.dtype, kElementError), extra);
  };
  for (const CaseSource& x : unary_sources(DType::kF32)) {
    emit(filled(x, Fill::kUniform, low, high), "");
    emit(filled(x, Fill::kUniform, low / 100, high / 100), "small");
  }
  emit(filled(source_of(DType::kF32, {64, 3, 1, 1}), Fill::kIndex, std::ceil(low), high),
       "of integers");
  // In this range no result overflows F16, and none is a subnormal F16.
  const double half_low = std::max(low, -4.0);
  const double half_high = std::min(high, 4.0);
  for (DType type : {DType::kF16, DType::kBF16}) {
    for (const CaseSource& x : unary_sources(type)) {
      emit(filled(x, Fill::kUniform, half_low, half_high), "");
    }
    emit(filled(source_of(type, {5000, 3, 1, 1}), Fill::kUniform, half_low, half_high), "");
  }
}

}  // namespace

CaseList unary_cases_list() {
  static const auto kCases = [] {
    std::vector<OpCases> rows = {
        {clamp_op, clamp_cases}, {leaky_relu_op, leaky_relu_cases}, {xielu_op, xielu_cases}};
    for (const UnaryRange& range : kUnaryRanges) rows.push_back({range.op, unary_cases});
    return rows;
  }();
  return kCases;
}

}  // namespace shunt
