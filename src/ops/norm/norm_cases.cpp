#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/norm/norm.h"

namespace shunt {

namespace {

void group_norm_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const GroupNormParams& params,
                        const char* extra = "") {
    emit_case(sink, Params::of(params), {x}, float_error(x.dtype, kSumError),
              op.describe(Params::of(params)) + extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      const Sizes sizes = sizes_of(x);
      emit(x, {1, 1e-5F});
      emit(x, {sizes[2], 0.1F});
      if (sizes[2] % 2 == 0 && sizes[2] > 2) emit(x, {2, 1e-5F});
      emit(filled(x, Fill::kUniform, 1000, 1001), {1, 1e-5F}, " far from 0");
    }
    emit(source_of(type, {30, 30, 32, 2}), {8, 1e-5F});
    emit(seen_as(type, {7, 5, 6, 2}, {2, 0, 1, 3}), {3, 1e-5F});
  }
}

void l2_norm_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, float eps, const char* extra = "") {
    const Params params = Params::of(L2NormParams{eps});
    emit_case(sink, params, {x}, float_error(x.dtype, kSumError), op.describe(params) + extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      emit(x, 1e-12F);
      emit(x, 5);
    }
    emit(source_of(type, {5000, 3, 1, 1}), 0);
    emit(filled(source_of(type, {64, 3, 1, 1}), Fill::kUniform, 0, 0), 0, " zeros");
  }
  // The squares are out of range for F32.
  const CaseSource x = source_of(DType::kF32, {64, 3, 1, 1});
  emit(filled(x, Fill::kUniform, -1e-25, 1e-25), 0, " tiny");
  emit(filled(x, Fill::kUniform, -1e25, 1e25), 1e-12F, " huge");
  emit(filled(x, Fill::kUniform, 1e38, 3e38), 1e-12F, " longer than any number of F32");
}

void norm_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const NormParams& params, const char* extra = "") {
    emit_case(sink, Params::of(params), {x}, float_error(x.dtype, kSumError),
              op.describe(Params::of(params)) + extra);
  };
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      // Without eps, a row of one element is nothing but rounding errors.
      if (sizes_of(x)[0] != 1) emit(x, {0});
      emit(x, {1e-5F});
      emit(x, {0.1F});
      emit(filled(x, Fill::kUniform, 1000, 1001), {1e-5F}, " far from 0");
    }
    emit(source_of(type, {5000, 2, 1, 1}), {1e-5F});
  }
}

void rms_norm_cases(const Op& op, const CaseSink& sink) {
  for (DType type : kFloatTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      for (float eps : {0.0F, 1e-5F, 0.1F}) {
        const Params params = Params::of(RmsNormParams{eps});
        emit_case(sink, params, {x}, float_error(x.dtype, kSumError), op.describe(params));
      }
    }
  }
}

}  // namespace

CaseList norm_cases_list() {
  static constexpr OpCases kCases[] = {
      {group_norm_op, group_norm_cases},
      {l2_norm_op, l2_norm_cases},
      {norm_op, norm_cases},
      {rms_norm_op, rms_norm_cases},
  };
  return kCases;
}

}  // namespace shunt
