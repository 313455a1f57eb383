#include <algorithm>
#include <vector>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

struct Conversion {
  DType from, to;
};

/// What can become what; every type can become itself. By way of F32, everything that can be
/// encoded can be made of it, and it of everything.
const std::vector<Conversion>& conversions() {
  static const std::vector<Conversion> kConversions = [] {
    std::vector<Conversion> list = {{DType::kF16, DType::kBF16}, {DType::kBF16, DType::kF16}};
    for (const DTypeTrait& type : dtypes()) {
      if (type.dtype == DType::kF32) continue;
      list.push_back({type.dtype, DType::kF32});
      if (type.encode != nullptr) list.push_back({DType::kF32, type.dtype});
    }
    return list;
  }();
  return kConversions;
}

Status expect_conversion(const Tensor& from, const Tensor& to) {
  if (from.dtype == to.dtype) return ok();
  const bool found = std::ranges::any_of(conversions(), [&](const Conversion& conversion) {
    return conversion.from == from.dtype && conversion.to == to.dtype;
  });
  if (found) return ok();
  if (trait(to.dtype).needs_weights()) {
    return invalid(
        "src is {}, which is not converted to dst's type, {}: that needs an importance "
        "matrix",
        to_string(from), to_string(to.dtype));
  }
  return invalid("src is {}, which is not converted to dst's type, {}", to_string(from),
                 to_string(to.dtype));
}

/// A source of integers stays one when its type is a float.
CaseSource integers(const CaseSource& source) {
  return filled(source, Fill::kIndex, -100, 100);
}

void emit(const CaseSink& sink, const CaseSource& dst, const CaseSource& src) {
  const std::vector<CaseSource> sources = {dst, src};
  const bool rounds = dst.dtype != src.dtype && !trait(src.dtype).integer;
  sink({.name = describe_sources(sources),
        .params = Params::of(NoParams{}),
        .sources = sources,
        .max_error = rounds ? rounding_error(dst.dtype) : 1e-10});
}

void pair_cases(const CaseSink& sink, const Conversion& pair) {
  // A block type on either side makes rows of whole blocks on both.
  const bool blocks = trait(pair.from).quantized || trait(pair.to).quantized;
  const bool whole_numbers = trait(pair.from).integer || trait(pair.to).integer;
  const auto emit_seen = [&](const CaseSource& dst, const CaseSource& src) {
    emit(sink, dst, whole_numbers ? integers(src) : src);
  };
  const std::int64_t block =
      std::max<std::int64_t>({32, trait(pair.from).block_elements, trait(pair.to).block_elements});
  for (const Sizes& sizes : {Sizes{2 * block, 5, 1, 1}, Sizes{10 * block, 1, 1, 1},
                             Sizes{block, 3, 2, 4}, Sizes{2 * block, 0, 2, 1}}) {
    emit_seen(source_of(pair.to, sizes), source_of(pair.from, sizes));
  }
  const Sizes sizes = {2 * block, 3, 5, 2};
  const CaseSource dst = source_of(pair.to, sizes);
  const CaseSource src = source_of(pair.from, sizes);
  emit_seen(dst, seen_as(pair.from, sizes, {0, 2, 1, 3}));
  emit_seen(seen_as(pair.to, sizes, {0, 2, 1, 3}), src);
  emit_seen(dst, seen_as(pair.from, sizes, {0, 1, 2, 3}, {block, 1, 1, 0}));
  emit_seen(seen_as(pair.to, sizes, {0, 1, 2, 3}, {block, 1, 1, 0}), src);
  if (!trait(pair.from).quantized) emit_seen(dst, seen_as(pair.from, sizes, {1, 0, 2, 3}));
  if (!trait(pair.to).quantized) emit_seen(seen_as(pair.to, sizes, {1, 0, 2, 3}), src);
  if (blocks) return;
  emit_seen(source_of(pair.to, {7, 3, 2, 1}), source_of(pair.from, {7, 3, 2, 1}));
  emit_seen(source_of(pair.to, {1, 1, 1, 1}), source_of(pair.from, {1, 1, 1, 1}));
  emit_seen(seen_as(pair.to, {9, 5, 2, 3}, {3, 1, 0, 2}),
            seen_as(pair.from, {9, 5, 2, 3}, {2, 0, 1, 3}, {0, 1, 0, 1}));
}

class Cpy final : public OpWith<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "cpy",
        .family = "data",
        .summary =
            "Writes src into dst, converted to dst's type: dst[i] = src[i]. Rounds to nearest, "
            "even if between two, where the type does not say otherwise; integers saturate, "
            "and not-a-number becomes 0 there.",
        .sources = {"dst", "src"},
        .storage = Storage::kIntoFirst};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& dst = *sources[0];
    const Tensor& src = *sources[1];
    SHUNT_TRY(expect_conversion(src, dst));
    SHUNT_TRY(expect_same_shape("src", src, "dst", dst));
    return Inferred{dst};
  }

  // Without dst's rounding, which is its type's and not the op's.
  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    result.data = sources[1]->data;
  }

  void cases(const CaseSink& sink) const override {
    for (const DTypeTrait& type : dtypes()) pair_cases(sink, {type.dtype, type.dtype});
    for (const Conversion& pair : conversions()) pair_cases(sink, pair);
    // Rounding to nearest costs 1/12 of the 1000^2 / 3 that numbers below 1000 have in the mean;
    // cutting off would cost 1/3 of it.
    const Sizes sizes = {500, 3, 1, 1};
    sink({.name = "F32 to I32 rounds to nearest",
          .params = Params::of(NoParams{}),
          .sources = {source_of(DType::kI32, sizes),
                      filled(source_of(DType::kF32, sizes), Fill::kUniform, -1000, 1000)},
          .max_error = 4e-7});
  }
};

}  // namespace

const Op& cpy_op() {
  static const Cpy kOp;
  return kOp;
}

Result<Value> cpy(GraphBuilder& g, Operand src, Operand dst) {
  return g.apply(cpy_op(), Params::of(NoParams{}), {&dst, &src});
}

}  // namespace shunt
