#include "ops/common/backward.h"
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
    if (node.needs_gradient(1))
      SHUNT_TRY(node.add_gradient(1, view(node.g, node.dy(), params.start, x)));
    if (!node.needs_gradient(0)) return ok();
    // The previous content of the window is lost.
    return node.add_gradient(0,
                             set(node.g, dup(node.g, node.dy()), zeros(node.g, x), params.start));
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
