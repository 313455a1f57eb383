#include "ops/state/recurrence_cases.h"

#include "ops/common/cases.h"

namespace shunt {

void recurrence_cases(const Op& op, const CaseSink& sink,
                      std::vector<CaseSource> (*sources_of)(const HeadSize& size),
                      const std::vector<Params>& params) {
  const auto emit = [&](const std::vector<CaseSource>& sources, const Params& given) {
    sink({.name = describe_sources(sources, op.describe(given)),
          .params = given,
          .sources = sources});
  };
  const auto without_ids = [&](const HeadSize& size) {
    std::vector<CaseSource> sources = sources_of(size);
    sources.push_back(not_given());
    return sources;
  };
  constexpr std::array kSizes = {
      HeadSize{64, 64, 2, 1, 1}, HeadSize{64, 64, 2, 9, 1}, HeadSize{16, 16, 3, 5, 2},
      HeadSize{32, 32, 1, 1, 4}, HeadSize{7, 7, 4, 3, 2},   HeadSize{33, 20, 2, 6, 1},
      HeadSize{8, 40, 2, 4, 3},  HeadSize{1, 1, 1, 3, 1},   HeadSize{16, 16, 2, 40, 1},
      HeadSize{16, 16, 2, 0, 2}, HeadSize{16, 16, 2, 3, 0}, HeadSize{16, 16, 0, 3, 2},
      HeadSize{0, 16, 2, 3, 1},
  };
  constexpr std::int64_t kStates = 6;
  for (const HeadSize& size : kSizes) {
    std::vector<CaseSource> sources = without_ids(size);
    emit(sources, params[0]);
    CaseSource& ids = sources.back();
    ids = filled(source_of(size.k % 2 == 0 ? DType::kI32 : DType::kI64, {size.s, 1, 1, 1}),
                 Fill::kIndex, 0, kStates);
    sources[sources.size() - 2].sizes[3] = kStates;
    emit(sources, params[0]);
  }
  constexpr HeadSize kSize = {24, 24, 3, 5, 2};
  std::vector<CaseSource> by_number = without_ids(kSize);
  by_number[by_number.size() - 2].sizes[3] = kStates;
  by_number.back() = filled(seen_as(DType::kI64, {kSize.s, 1, 1, 1}, {1, 0, 2, 3}, {1, 2, 0, 0}),
                            Fill::kIndex, 0, kStates);
  emit(by_number, params[0]);
  const std::vector<CaseSource> plain = without_ids(kSize);
  for (std::size_t i = 0; i + 1 < plain.size(); ++i) {
    const auto seen = [&](const std::array<int, kMaxDims>& permute, const Sizes& slice) {
      std::vector<CaseSource> sources = plain;
      sources[i] = filled(seen_as(DType::kF32, sizes_of(plain[i]), permute, slice), plain[i].fill,
                          plain[i].low, plain[i].high);
      emit(sources, params[0]);
    };
    seen({1, 0, 2, 3}, {0, 0, 0, 0});
    seen({0, 2, 1, 3}, {3, 1, 0, 0});
    seen({0, 1, 2, 3}, {1, 0, 2, 1});
    seen({3, 0, 1, 2}, {0, 0, 0, 0});
    seen({2, 1, 0, 3}, {0, 1, 0, 2});
  }
  for (std::size_t i = 1; i < params.size(); ++i) emit(plain, params[i]);
}

}  // namespace shunt
