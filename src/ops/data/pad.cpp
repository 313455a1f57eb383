#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/view/view.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

std::int64_t modulo(std::int64_t i, std::int64_t n) {
  return (i % n + n) % n;
}

class Pad final : public Differentiable<PadParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "pad",
        .family = "data",
        .summary =
            "x with elements added before and after it along each dimension. Constant: y[i] "
            "= x[i - before] where there is such an element, else `value`. Circular: y[i] = "
            "x[(i - before) mod n], where x has n.",
        .sources = {"x"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const PadParams& params) const override {
    const Tensor& x = *sources[0];
    const bool circular = params.padding == Padding::kCircular;
    if (!circular) {
      SHUNT_TRY(expect_plain_type("x", x));
      SHUNT_TRY(expect_finite("value", params.value));
    }
    Shape shape = x.shape;
    for (std::size_t i = 0; i < kMaxDims; ++i) {
      const std::int64_t before = params.before[i];
      const std::int64_t after = params.after[i];
      if (before < 0 || after < 0 || before > kMaxSize - after ||
          before + after > kMaxSize - x.shape[i].max) {
        return invalid(
            "{} elements before and {} after dimension {} of x, {}: none may be "
            "negative, nor all together have more than 63 bits",
            before, after, i, to_string(x.shape[i]));
      }
      if (before + after == 0) continue;
      if (!x.shape[i].is_fixed()) {
        return invalid("dimension {} of x is {}, a dynamic dimension, which can't grow by {}", i,
                       to_string(x.shape[i]), before + after);
      }
      if (circular && x.shape[i] == Dim(0)) {
        return invalid("dimension {} of x has no element to repeat", i);
      }
      shape[i] = before + x.shape[i].max + after;
    }
    SHUNT_TRY(expect_whole_blocks("before[0]", params.before[0], "x", x));
    SHUNT_TRY(expect_whole_blocks("after[0]", params.after[0], "x", x));
    return contiguous(x.dtype, shape);
  }

  void plain_reference(RefSources sources, const PadParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    for_each_element(result.sizes, [&](const Sizes& i) {
      Sizes j = i;
      bool inside = true;
      for (std::size_t d = 0; d < kMaxDims; ++d) {
        j[d] = i[d] - params.before[d];
        inside = inside && j[d] >= 0 && j[d] < x.sizes[d];
        if (params.padding == Padding::kCircular) j[d] = modulo(j[d], x.sizes[d]);
      }
      const bool found = inside || params.padding == Padding::kCircular;
      at(result, i) = found ? at(x, j) : static_cast<double>(params.value);
    });
  }

  Status gradient_rule(Backward& node, const PadParams& params) const override {
    if (params.padding == Padding::kCircular)
      return fail(ErrorCode::kUnsupported, "circular padding has no gradient rule");
    return node.add_gradient(0, view(node.g, node.dy(), params.before, node.shape(0)));
  }
};

}  // namespace

std::string_view to_string(Padding padding) {
  return padding == Padding::kConstant ? "constant" : "circular";
}

const Op& pad_op() {
  static const Pad kOp;
  return kOp;
}

Result<Value> pad(GraphBuilder& g, Operand x, PadParams params) {
  return g.apply(pad_op(), Params::of(params), {&x});
}

}  // namespace shunt
