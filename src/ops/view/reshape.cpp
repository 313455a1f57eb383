#include <string>
#include <vector>

#include "ops/common/cases.h"
#include "ops/common/checks.h"
#include "ops/view/view.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

/// What must not change: each extent, with the elements that one unit of it covers, and how many
/// elements there are with every extent at 1.
struct Elements {
  struct Unit {
    ExtentId extent;
    std::int64_t elements;
    friend bool operator==(const Unit&, const Unit&) = default;
  };
  std::vector<Unit> units;
  std::int64_t count = 1;
  friend bool operator==(const Elements&, const Elements&) = default;
};

Elements elements_of(const Shape& shape) {
  Elements elements;
  for (const Dim& dim : shape) {
    elements.count = saturating_multiply(elements.count, dim.is_fixed() ? dim.max : dim.factor);
    if (!dim.is_fixed()) elements.units.push_back({dim.extent, elements.count});
  }
  return elements;
}

class Reshape final : public OpWith<ReshapeParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "reshape",
        .family = "view",
        .summary = "The elements of x, which is contiguous, in the same order in another shape.",
        .sources = {"x"},
        .storage = Storage::kView};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const ReshapeParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_ASSIGN(const Tensor result, make_tensor(x.dtype, params.shape));
    if (!is_contiguous(x)) {
      return invalid("x is not contiguous, so that it can't be seen as {} (cont makes a copy)",
                     to_string(params.shape));
    }
    const Elements old_elements = elements_of(x.shape);
    const Elements new_elements = elements_of(params.shape);
    if (element_count(x.shape) != element_count(params.shape)) {
      return invalid("{} has {} elements, but {} has {}", to_string(params.shape),
                     element_count(params.shape), to_string(x), element_count(x.shape));
    }
    if (old_elements == new_elements) return Inferred{result};
    return invalid("{} cuts the extents of {} in another way", to_string(params.shape),
                   to_string(x));
  }

  void plain_reference(RefSources sources, const ReshapeParams&, RefTensor& result) const override {
    result.data = sources[0]->data;
  }

  void cases(const CaseSink& sink) const override {
    const auto emit = [&](const CaseSource& x, const Shape& shape) {
      sink({.name = fmt::format("{} to {}", describe_source(x), to_string(shape)),
            .params = Params::of(ReshapeParams{shape}),
            .sources = {x}});
    };
    for (DType type : kCacheTypes) {
      emit(source_of(type, {64, 6, 1, 1}), {64, 2, 3});
      emit(source_of(type, {64, 6, 1, 1}), {32, 12});
      emit(source_of(type, {64, 2, 3, 2}), {64 * 2, 6});
      emit(source_of(type, {64, 2, 3, 2}), {64 * 12});
      emit(source_of(type, {64, 0, 3, 1}), {32, 3, 0});
      emit(seen_as(type, {64, 3, 1, 1}, {0, 1, 2, 3}, {0, 2, 0, 0}), {32, 6});
    }
    emit(source_of(DType::kF32, {7, 3, 2, 1}), {3, 14});
    emit(source_of(DType::kI32, {12, 1, 1, 1}), {1, 12});
  }
};

}  // namespace

const Op& reshape_op() {
  static const Reshape kOp;
  return kOp;
}

Result<Value> reshape(GraphBuilder& g, Operand x, const Shape& shape) {
  return g.apply(reshape_op(), Params::of(ReshapeParams{shape}), {&x});
}

}  // namespace shunt
