#include <algorithm>
#include <vector>

#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/data/data.h"

namespace shunt {

namespace {

struct Conversion {
  DType from, to;
};

/// Between integers and F64.
bool is_direct(const Conversion& pair) {
  const auto is_wide = [](DType type) { return trait(type).integer || type == DType::kF64; };
  return is_wide(pair.from) && is_wide(pair.to);
}

/// A source of integers stays one when its type is a float.
CaseSource integers(const CaseSource& source) {
  return filled(source, Fill::kIndex, -100, 100);
}

void emit(const CaseSink& sink, const CaseSource& dst, const CaseSource& src) {
  const std::vector<CaseSource> sources = {dst, src};
  sink({.name = describe_sources(sources),
        .params = Params::of(NoParams{}),
        .sources = sources,
        .max_error = conversion_error(src.dtype, dst.dtype)});
}

/// Two types that meet by way of F32, of which each has been through all_strides() with it.
void few_shapes(const CaseSink& sink, const Conversion& pair) {
  const bool whole_numbers = trait(pair.from).integer || trait(pair.to).integer;
  const std::int64_t block =
      std::max(trait(pair.from).block_elements, trait(pair.to).block_elements);
  const Sizes sizes = {block > 1 ? 2 * block : 33, 3, 2, 1};
  const auto emit_seen = [&](const CaseSource& src) {
    emit(sink, source_of(pair.to, sizes), whole_numbers ? integers(src) : src);
  };
  emit_seen(source_of(pair.from, sizes));
  emit_seen(seen_as(pair.from, sizes, {0, 2, 1, 3}, {block, 1, 1, 0}));
}

void all_strides(const CaseSink& sink, const Conversion& pair) {
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

class Cpy final : public Differentiable<NoParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "cpy",
        .family = "data",
        .summary =
            "Writes src into dst, converted to dst's type: dst[i] = src[i]. Integers and F64 "
            "become each other at once, everything else goes by way of F32. Rounds to nearest, "
            "even if between two, where the type does not say otherwise; integers saturate, and "
            "not-a-number becomes 0 there.",
        .sources = {"dst", "src"},
        .storage = Storage::kIntoFirst,
        .place_by_place = true};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const NoParams&) const override {
    const Tensor& dst = *sources[0];
    const Tensor& src = *sources[1];
    SHUNT_TRY(expect_conversion("src", src, "dst", dst));
    SHUNT_TRY(expect_same_shape("src", src, "dst", dst));
    return Inferred{dst};
  }

  // Without dst's rounding, which is its type's and not the op's.
  void plain_reference(RefSources sources, const NoParams&, RefTensor& result) const override {
    result.data = sources[1]->data;
  }

  /// What was in dst is lost.
  Status gradient_rule(Backward& node, const NoParams&) const override {
    SHUNT_TRY(node.give_zero(0));
    return node.give(1, node.dy());
  }

  void cases(const CaseSink& sink) const override {
    for (const DTypeTrait& from : dtypes()) {
      for (const DTypeTrait& to : dtypes()) {
        const Conversion pair = {from.dtype, to.dtype};
        if (from.dtype != to.dtype && to.encode == nullptr) continue;
        const bool often = from.dtype == to.dtype || from.dtype == DType::kF32 ||
                           to.dtype == DType::kF32 || is_direct(pair);
        often ? all_strides(sink, pair) : few_shapes(sink, pair);
      }
    }
    // What ternary types are made for, which they hold exactly: -1, 0 and 1.
    for (const DType ternary : {DType::kTQ1_0, DType::kTQ2_0}) {
      for (const std::array<int, kMaxDims>& order : {std::array{0, 1, 2, 3}, {1, 0, 2, 3}}) {
        const Sizes sizes = {512, 3, 2, 1};
        const CaseSource src = seen_as(DType::kF32, sizes, order);
        const std::vector<CaseSource> sources = {source_of(ternary, sizes),
                                                 filled(src, Fill::kIndex, -1, 2)};
        sink({.name = describe_sources(sources, "of -1, 0 and 1"),
              .params = Params::of(NoParams{}),
              .sources = sources,
              .max_error = 0});
      }
    }
    const Sizes sizes = {500, 3, 1, 1};
    sink({.name = "F32 to I32 rounds to nearest",
          .params = Params::of(NoParams{}),
          .sources = {source_of(DType::kI32, sizes),
                      filled(source_of(DType::kF32, sizes), Fill::kUniform, -1000, 1000)},
          .max_error = 0});
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
