#include <algorithm>
#include <limits>

#include "conformance/case_errors.h"
#include "conformance/case_sources.h"
#include "conformance/cases.h"
#include "ops/common/type_lists.h"
#include "ops/data/data.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

void concat_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& a, const CaseSource& b, int dim) {
    const Params params = Params::of(ConcatParams{dim});
    emit_case(sink, params, {a, b}, 0, op.describe(params));
  };
  for (const DTypeTrait& type : dtypes()) {
    const DType t = type.dtype;
    const std::int64_t block = type.block_elements;
    for (int dim = 0; dim < kMaxDims; ++dim) {
      const Sizes sizes = {2 * block, 3, 2, 2};
      Sizes other = sizes;
      other[static_cast<std::size_t>(dim)] = dim == 0 ? block : 5;
      Sizes none = sizes;
      none[static_cast<std::size_t>(dim)] = 0;
      const CaseSource a = source_of(t, sizes);
      emit(a, source_of(t, other), dim);
      emit(a, source_of(t, none), dim);
      emit(source_of(t, none), a, dim);
      emit(seen_as(t, sizes, {0, 1, 2, 3}, {block, 1, 1, 1}), source_of(t, other), dim);
      emit(seen_as(t, sizes, {0, 2, 1, 3}), seen_as(t, other, {0, 3, 2, 1}, {block, 0, 1, 0}), dim);
    }
  }
  for (DType type : kPlainTypes) {
    emit(seen_as(type, {17, 3, 2, 1}, {1, 0, 2, 3}), source_of(type, {9, 3, 2, 1}), 0);
    emit(source_of(type, {1, 1, 1, 1}), source_of(type, {1, 1, 1, 1}), 1);
  }
  emit(source_of(DType::kF32, {5000, 2, 1, 1}), source_of(DType::kF32, {5001, 2, 1, 1}), 0);
}

void cont_cases(const Op&, const CaseSink& sink) {
  for (const DTypeTrait& type : dtypes()) {
    for (const CaseSource& x : unary_sources(type.dtype)) {
      emit_case(sink, Params::of(NoParams{}), {x}, 0);
    }
  }
}

struct Conversion {
  DType from, to;
};

/// Whether the conversion does not go through F32: between integers and F64.
bool is_direct(const Conversion& pair) {
  const auto is_wide = [](DType type) { return trait(type).integer || type == DType::kF64; };
  return is_wide(pair.from) && is_wide(pair.to);
}

/// Integers, whatever the type of the source.
CaseSource integers(const CaseSource& source) {
  return filled(source, Fill::kIndex, -100, 100);
}

void emit_cpy(const CaseSink& sink, const CaseSource& dst, const CaseSource& src) {
  emit_case(sink, Params::of(NoParams{}), {dst, src}, conversion_error(src.dtype, dst.dtype));
}

/// Two types that are converted through F32. all_strides() covers each of them with F32. Few
/// blocks, as an emulated device takes long to encode one.
void few_shapes(const CaseSink& sink, const Conversion& pair) {
  const bool whole_numbers = trait(pair.from).integer || trait(pair.to).integer;
  const std::int64_t block =
      std::max(trait(pair.from).block_elements, trait(pair.to).block_elements);
  const auto emit = [&](const Sizes& sizes, const CaseSource& src) {
    emit_cpy(sink, source_of(pair.to, sizes), whole_numbers ? integers(src) : src);
  };
  const Sizes plain = {block > 1 ? 2 * block : 33, 3, 1, 1};
  emit(plain, source_of(pair.from, plain));
  const Sizes seen = {block > 1 ? block : 33, 3, 2, 1};
  emit(seen, seen_as(pair.from, seen, {0, 2, 1, 3}, {block, 1, 1, 0}));
}

void all_strides(const CaseSink& sink, const Conversion& pair) {
  // With a block type on one side, both sides have rows of whole blocks.
  const bool blocks = trait(pair.from).quantized || trait(pair.to).quantized;
  const bool whole_numbers = trait(pair.from).integer || trait(pair.to).integer;
  const auto emit_seen = [&](const CaseSource& dst, const CaseSource& src) {
    emit_cpy(sink, dst, whole_numbers ? integers(src) : src);
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

void cpy_cases(const Op&, const CaseSink& sink) {
  for (const DTypeTrait& from : dtypes()) {
    for (const DTypeTrait& to : dtypes()) {
      const Conversion pair = {from.dtype, to.dtype};
      if (from.dtype != to.dtype && to.encode == nullptr) continue;
      const bool often = from.dtype == to.dtype || from.dtype == DType::kF32 ||
                         to.dtype == DType::kF32 || is_direct(pair);
      often ? all_strides(sink, pair) : few_shapes(sink, pair);
    }
  }
  // Ternary types hold -1, 0 and 1 exactly.
  for (const DType ternary : {DType::kTQ1_0, DType::kTQ2_0}) {
    for (const std::array<int, kMaxDims>& order : {std::array{0, 1, 2, 3}, {1, 0, 2, 3}}) {
      const Sizes sizes = {512, 3, 2, 1};
      const CaseSource src = seen_as(DType::kF32, sizes, order);
      emit_case(sink, Params::of(NoParams{}),
                {source_of(ternary, sizes), filled(src, Fill::kIndex, -1, 2)}, 0, "of -1, 0 and 1");
    }
  }
  const Sizes sizes = {500, 3, 1, 1};
  sink({.name = "F32 to I32 rounds to nearest",
        .params = Params::of(NoParams{}),
        .sources = {source_of(DType::kI32, sizes),
                    filled(source_of(DType::kF32, sizes), Fill::kUniform, -1000, 1000)},
        .max_error = 0});
}

void repeat_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Sizes& times) {
    Shape shape;
    const Sizes sizes = sizes_of(x);
    for (std::size_t d = 0; d < kMaxDims; ++d) shape[d] = times[d] * sizes[d];
    const Params params = Params::of(RepeatParams{shape});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (const DTypeTrait& type : dtypes()) {
    const std::int64_t block = type.block_elements;
    const CaseSource x = source_of(type.dtype, {2 * block, 3, 2, 1});
    emit(x, {1, 1, 1, 1});
    emit(x, {3, 2, 1, 4});
    emit(x, {1, 1, 0, 1});
    emit(seen_as(type.dtype, {block, 2, 3, 2}, {0, 2, 1, 3}, {block, 1, 0, 0}), {5, 1, 2, 1});
  }
  for (const CaseSource& x : unary_sources(DType::kF32)) {
    emit(x, {2, 1, 3, 1});
    emit(x, {1, 3, 1, 2});
  }
  for (DType type : kPlainTypes) {
    emit(source_of(type, {1, 5, 1, 1}), {700, 1, 1, 1});
    emit(source_of(type, {7, 2, 1, 1}), {1300, 1, 1, 1});
    emit(seen_as(type, {5, 3, 1, 1}, {1, 0, 2, 3}), {3, 2, 1, 1});
  }
  emit(source_of(DType::kF16, {4097, 1, 1, 1}), {3, 2, 1, 1});
}

void roll_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& x, const Sizes& shift) {
    const Params params = Params::of(RollParams{shift});
    emit_case(sink, params, {x}, 0, op.describe(params));
  };
  for (const DTypeTrait& type : dtypes()) {
    const std::int64_t block = type.block_elements;
    emit(source_of(type.dtype, {3 * block, 4, 3, 2}), {block, -1, 5, 0});
    emit(source_of(type.dtype, {2 * block, 5, 1, 1}), {-7 * block, 0, 9, -9});
  }
  for (const CaseSource& x : unary_sources(DType::kF32)) {
    emit(x, {0, 0, 0, 0});
    emit(x, {5, 1, -1, 1});
  }
  for (DType type : kPlainTypes) {
    emit(seen_as(type, {9, 4, 2, 1}, {1, 0, 2, 3}, {2, 0, 0, 0}), {-4, 3, 0, 0});
  }
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  emit(source_of(DType::kF32, {5000, 2, 3, 1}), {4097, kLowest, kMaxSize, kLowest});
}

void set_cases(const Op& op, const CaseSink& sink) {
  const auto emit = [&](const CaseSource& dst, const CaseSource& x, const Sizes& start) {
    const Params params = Params::of(SetParams{start});
    emit_case(sink, params, {dst, x}, conversion_error(x.dtype, dst.dtype), op.describe(params));
  };
  for (const DTypeTrait& type : dtypes()) {
    const std::int64_t block = type.block_elements;
    const DType t = type.dtype;
    const CaseSource dst = source_of(t, {3 * block, 4, 3, 2});
    emit(dst, source_of(t, {block, 2, 2, 1}), {block, 1, 0, 1});
    emit(dst, source_of(t, {3 * block, 4, 3, 2}), {0, 0, 0, 0});
    emit(dst, source_of(t, {2 * block, 0, 3, 2}), {block, 4, 0, 0});
    emit(source_of(t, {0, 4, 1, 1}), source_of(t, {0, 4, 1, 1}), {0, 0, 0, 0});
    emit(dst, seen_as(t, {block, 2, 2, 1}, {0, 1, 2, 3}, {block, 1, 0, 1}), {block, 1, 0, 1});
    emit(seen_as(t, {3 * block, 4, 3, 2}, {0, 2, 1, 3}, {block, 1, 0, 0}),
         seen_as(t, {2 * block, 2, 1, 2}, {0, 3, 1, 2}), {block, 2, 2, 0});
    if (!type.quantized) {
      emit(source_of(t, {33, 4, 1, 1}), source_of(t, {7, 2, 1, 1}), {5, 1, 0, 0});
      emit(seen_as(t, {33, 4, 2, 1}, {1, 0, 2, 3}), source_of(t, {7, 2, 1, 1}), {26, 2, 1, 0});
    }
    if (type.encode == nullptr || t == DType::kF32) continue;
    CaseSource x = source_of(DType::kF32, {block, 2, 2, 1});
    if (type.integer) x = filled(x, Fill::kIndex, -100, 100);
    emit(dst, x, {2 * block, 1, 0, 1});
  }
  emit(source_of(DType::kF32, {9000, 2, 1, 1}), source_of(DType::kF16, {8500, 1, 1, 1}),
       {123, 1, 0, 0});
  emit(source_of(DType::kF32, {64, 4, 1, 1}), source_of(DType::kQ4_0, {32, 2, 1, 1}),
       {17, 2, 0, 0});
  emit(source_of(DType::kI64, {9, 4, 1, 1}), source_of(DType::kI32, {5, 2, 1, 1}), {1, 0, 0, 0});
}

}  // namespace

CaseList data_copies_cases_list() {
  static constexpr OpCases kCases[] = {
      {concat_op, concat_cases}, {cont_op, cont_cases}, {dup_op, cont_cases}, {cpy_op, cpy_cases},
      {repeat_op, repeat_cases}, {roll_op, roll_cases}, {set_op, set_cases},
  };
  return kCases;
}

}  // namespace shunt
