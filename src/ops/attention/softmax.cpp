#include "ops/attention/attention.h"
#include "ops/attention/scores.h"
#include "ops/common/backward.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/common/type_lists.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "ops/training/training.h"
#include "ops/unary/unary.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class Softmax final : public Differentiable<SoftmaxParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "softmax",
        .family = "attention",
        .summary =
            "Softmax of each row: y = exp(z - m) / (sum(exp(z - m)) + exp(sinks[h] - m)), z = x * "
            "scale + slope[h] * mask, m the largest of z and sinks[h]; h is the row's index in "
            "dimension 2. Slopes are those of ALiBi (arXiv 2108.12409), or 1 if max_bias is 0. A "
            "row whose z are all minus infinity gives zeros.",
        .sources = {"x", "mask?", "sinks?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const SoftmaxParams& params) const override {
    const Tensor& x = *sources[0];
    SHUNT_TRY(expect_type("x", x, kFloatTypes));
    SHUNT_TRY(check_mask(sources[1], x.shape, params.max_bias));
    SHUNT_TRY(check_sinks(sources[2], x.shape[2]));
    SHUNT_TRY(expect_finite("scale", params.scale));
    return contiguous(DType::kF32, x.shape);
  }

  void plain_reference(RefSources sources, const SoftmaxParams& params,
                       RefTensor& result) const override {
    const RefTensor& x = *sources[0];
    const RefMask mask(sources[1], params.max_bias, x.sizes[2]);
    std::vector<double> z(static_cast<std::size_t>(x.sizes[0]));
    for_each_row(x.sizes, [&](std::int64_t t, std::int64_t h, std::int64_t s) {
      for (std::size_t i = 0; i < z.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        z[i] = x.at(n, t, h, s) * params.scale + mask.at(n, t, h, s);
      }
      reference_softmax(z, sources[2], h);
      for (std::size_t i = 0; i < z.size(); ++i) {
        result.at(static_cast<std::int64_t>(i), t, h, s) = z[i];
      }
    });
  }

  Status gradient_rule(Backward& node, const SoftmaxParams& params) const override {
    GraphBuilder& g = node.g;
    const Result<Value> dy = node.dy();
    const Result<Value> y = node.y();
    if (node.needs_gradient(0)) SHUNT_TRY(node.add_gradient(0, softmax_back(g, dy, y, params)));
    if (node.needs_gradient(1)) {
      if (params.max_bias != 0)
        return fail(ErrorCode::kUnsupported, "a mask with slopes has no gradient rule");
      SHUNT_TRY(node.add_gradient(1, sum_repeats(g, softmax_back(g, dy, y), node.shape(1))));
    }
    if (!node.needs_gradient(2)) return ok();
    // A sink's share of a row, 1 - sum(y), gives nothing, and takes from all others.
    const Result<Value> share = scale(g, sum_rows(g, y), {.scale = -1, .bias = 1});
    const Result<Value> lost = mul(g, share, sum_rows(g, mul(g, y, dy)));
    const Dim heads = node.shape(2)[0];
    const Result<Value> by_head = sum_repeats(g, neg(g, lost), {1, 1, heads});
    return node.add_gradient(2, reshape(g, by_head, {heads}));
  }
};

}  // namespace

const Op& softmax_op() {
  static const Softmax kOp;
  return kOp;
}

Result<Value> softmax(GraphBuilder& g, Operand x, Operand mask, SoftmaxParams params,
                      Operand sinks) {
  return g.apply(softmax_op(), Params::of(params), {&x, &mask, &sinks});
}

}  // namespace shunt
