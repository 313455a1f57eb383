#include <algorithm>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/cache_types.h"
#include "ops/custom/custom_node.h"

namespace shunt {

namespace {

/// Calls f(i1, i2, i3) for this call's share of the rows of `sizes`.
template <class F>
Status for_my_rows(const CustomCall& call, const Sizes& sizes, F f) {
  const auto [begin, end] = call.share(sizes[1] * sizes[2] * sizes[3]);
  for (std::int64_t row = begin; row < end; ++row) {
    SHUNT_TRY(f(row % sizes[1], row / sizes[1] % sizes[2], row / (sizes[1] * sizes[2])));
  }
  return ok();
}

Result<Tensor> same_as_first(std::span<const Tensor> sources) {
  return sources[0];
}

/// y = 2 x + 1 of type T.
template <class T>
Status twice_and_one(const CustomCall& call) {
  SHUNT_ASSIGN(const auto x, call.source<T>(0));
  SHUNT_ASSIGN(const auto y, call.result.as<T>());
  return for_my_rows(call, call.result.sizes,
                     [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) -> Status {
                       for (std::int64_t i = 0; i < x.size(0); ++i) {
                         y(i, i1, i2, i3) = static_cast<T>(2 * x(i, i1, i2, i3) + 1);
                       }
                       return ok();
                     });
}

/// y = -x, row by row, for any types.
Status negated(const CustomCall& call) {
  std::vector<float> row(static_cast<std::size_t>(call.result.sizes[0]));
  return for_my_rows(call, call.result.sizes,
                     [&](std::int64_t i1, std::int64_t i2, std::int64_t i3) -> Status {
                       SHUNT_TRY(call.sources[0].read_row(row, i1, i2, i3));
                       for (float& each : row) each = -each;
                       return call.result.write_row(row, i1, i2, i3);
                     });
}

/// Rows of a table by I32 number; rows past its end are zeros.
Status picked_rows(const CustomCall& call) {
  SHUNT_ASSIGN(const auto table, call.source<float>(0));
  SHUNT_ASSIGN(const auto ids, call.source<std::int32_t>(1));
  SHUNT_ASSIGN(const auto y, call.result.as<float>());
  const auto [begin, end] = call.share(ids.size(0));
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t from = ids(row);
    for (std::int64_t i = 0; i < table.size(0); ++i) {
      y(i, row) = from < table.size(1) ? table(i, from) : 0;
    }
  }
  return ok();
}

/// y[i] = 3 i + 1, without sources.
Status counted(const CustomCall& call) {
  SHUNT_ASSIGN(const auto y, call.result.as<std::int32_t>());
  const auto [begin, end] = call.share(y.size(0));
  for (std::int64_t i = begin; i < end; ++i) y(i) = static_cast<std::int32_t>(3 * i + 1);
  return ok();
}

/// The sum of all sources.
Status summed(const CustomCall& call) {
  SHUNT_ASSIGN(const auto y, call.result.as<float>());
  const auto [begin, end] = call.share(y.size(0));
  for (std::int64_t i = begin; i < end; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < call.sources.size(); ++k) {
      SHUNT_ASSIGN(const auto x, call.source<float>(k));
      sum += x(i);
    }
    y(i) = sum;
  }
  return ok();
}

void emit_custom(const CaseSink& sink, CustomParams custom, std::vector<CaseSource> sources,
                 double max_error = 0) {
  CustomNode node;
  std::string name = fmt::format("{} in {}", custom.name, custom.items);
  for (const CaseSource& source : sources) {
    node.sources.push_back(source.dtype);
    name += fmt::format(", {}", describe_source(source));
  }
  node.custom = std::move(custom);
  sources.resize(kMaxCustomSources, not_given());
  sink({.name = std::move(name),
        .params = Params::of(std::move(node)),
        .sources = std::move(sources),
        .max_error = max_error});
}

/// In one call, and in more calls than there are rows.
constexpr std::array<std::int64_t, 3> kItems = {1, 4, 100};

template <class T>
void element_cases(const CaseSink& sink) {
  for (const CaseSource& x : unary_sources(dtype_of<T>())) {
    // At most 50, so that 2 x + 1 fits into an I8.
    const CaseSource source = x.fill == Fill::kIndex ? filled(x, x.fill, -50, 50) : x;
    for (const std::int64_t items : kItems) {
      emit_custom(sink, {"twice_and_one", same_as_first, twice_and_one<T>, items}, {source},
                  trait(x.dtype).integer ? 0 : kElementError);
    }
  }
}

void custom_cases(const Op&, const CaseSink& sink) {
  element_cases<float>(sink);
  element_cases<double>(sink);
  element_cases<std::int8_t>(sink);
  element_cases<std::int16_t>(sink);
  element_cases<std::int32_t>(sink);
  element_cases<std::int64_t>(sink);
  for (const DType type : kCacheTypes) {
    for (const CaseSource& x : unary_sources(type)) {
      emit_custom(sink, {"negated", same_as_first, negated, 3}, {x},
                  type == DType::kF32 ? 0 : rounding_error(type));
    }
  }
  const Tensor ids = {DType::kI32, {33, 1, 1, 1}, {}};
  const Tensor rows = {DType::kF32, {7, 5, 1, 1}, {}};
  for (const std::int64_t items : kItems) {
    emit_custom(sink, {"counted", ids, counted, items}, {});
    for (const CaseSource& table :
         {source_of(DType::kF32, {7, 9, 1, 1}), seen_as(DType::kF32, {7, 9, 1, 1}, {1, 0, 2, 3})}) {
      emit_custom(sink, {"picked_rows", rows, picked_rows, items},
                  {table, filled(source_of(DType::kI32, {5, 1, 1, 1}), Fill::kIndex, 0, 12)});
    }
    const std::array seen = {source_of(DType::kF32, {50, 1, 1, 1}),
                             source_of(DType::kF32, {0, 1, 1, 1}),
                             seen_as(DType::kF32, {50, 1, 1, 1}, {1, 0, 2, 3}, {3, 1, 0, 0})};
    for (const CaseSource& each : seen) {
      const std::vector<CaseSource> all(kMaxCustomSources, each);
      emit_custom(sink, {"summed", same_as_first, summed, items}, all, kElementError);
    }
  }
}

}  // namespace

CaseList custom_cases_list() {
  static constexpr OpCases kCases[] = {
      {custom_op, custom_cases},
  };
  return kCases;
}

}  // namespace shunt
