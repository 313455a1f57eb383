#include "ops/common/backward.h"
#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class Set final : public Differentiable<SetParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "set",
        .family = "data",
        .summary =
            "Writes x into a window of dst, converted to dst's type as by cpy: dst[start + "
            "i] = x[i]; the rest of dst stays.",
        .sources = {"dst", "x"},
        .storage = Storage::kIntoFirst};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SetParams& params) const override {
    const Tensor& dst = *sources[0];
    const Tensor& x = *sources[1];
    SHUNT_TRY(expect_conversion("x", x, "dst", dst));
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      const std::int64_t start = params.start[i];
      const Dim& part = x.shape[i];
      const Dim& whole = dst.shape[i];
      const bool inside = start >= 0 && start <= whole.max && part.max <= whole.max - start;
      if (inside && (whole.is_fixed() || (start == 0 && part == whole))) continue;
      return invalid("dimension {}: {} elements from {} on are not inside of dst, which has {}", i,
                     to_string(part), start, to_string(whole));
    }
    SHUNT_TRY(expect_whole_blocks("start[0]", params.start[0], "dst", dst));
    SHUNT_TRY(expect_whole_blocks("dimension 0 of x", x.shape[0].max, "dst", dst));
    SHUNT_TRY(expect_whole_blocks("the unit of dimension 0 of x", x.shape[0].factor, "dst", dst));
    return Inferred{dst};
  }

  // Without dst's rounding, which is its type's and not the op's.
  void plain_reference(RefSources sources, const SetParams& params,
                       RefTensor& result) const override {
    const Sizes& start = params.start;
    for_each_element(sources[1]->sizes, [&](const Sizes& i) {
      result.at(start[0] + i[0], start[1] + i[1], start[2] + i[2], start[3] + i[3]) =
          at(*sources[1], i);
    });
  }

  Status gradient_rule(Backward& node, const SetParams& params) const override {
    const Shape x = node.shape(1);
    if (node.wants(1)) SHUNT_TRY(node.give(1, view(node.g, node.dy(), params.start, x)));
    if (!node.wants(0)) return ok();
    // What was in the window is lost.
    return node.give(0, set(node.g, dup(node.g, node.dy()), zeros(node.g, x), params.start));
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& dst, const CaseSource& x, const Sizes& start) {
      const std::vector<CaseSource> sources = {dst, x};
      const Params params = Params::of(SetParams{start});
      sink({.name = describe_sources(sources, describe(params)),
            .params = params,
            .sources = sources,
            .max_error = conversion_error(x.dtype, dst.dtype)});
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
};

}  // namespace

const Op& set_op() {
  static const Set kOp;
  return kOp;
}

Result<Value> set(GraphBuilder& g, Operand dst, Operand x, const Sizes& start) {
  return g.apply(set_op(), Params::of(SetParams{start}), {&dst, &x});
}

}  // namespace shunt
