#include "ops/training/pairs.h"

#include "ops/common/checks.h"

namespace shunt {

Status expect_pair(const OpInfo& info, SourceTensors sources, std::size_t a, std::size_t b) {
  SHUNT_TRY(expect_type(info.sources[a], *sources[a], {DType::kF32}));
  SHUNT_TRY(expect_type(info.sources[b], *sources[b], {DType::kF32}));
  return expect_same_shape(info.sources[a], *sources[a], info.sources[b], *sources[b]);
}

void pair_cases(const Op& op, const CaseSink& sink, const PairCases& how) {
  const auto& [ta, tb] = how.types;
  const auto emit = [&](const CaseSource& a, const CaseSource& b, const Params& params) {
    std::vector<CaseSource> sources = how.before;
    sources.push_back(a);
    sources.push_back(filled(b, how.b, how.b_low, how.b_high));
    sources.insert(sources.end(), how.after.begin(), how.after.end());
    sink({.name = describe_sources(sources, op.describe(params)),
          .params = params,
          .sources = sources,
          .max_error = how.max_error});
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

}  // namespace shunt
