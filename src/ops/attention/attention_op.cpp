#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/scores.h"
#include "ops/common/backward.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"
#include "ops/data/data.h"
#include "ops/elementwise/elementwise.h"
#include "ops/matrix/matmul_back.h"
#include "ops/matrix/matrix.h"
#include "ops/training/training.h"
#include "ops/unary/unary.h"
#include "ops/view/view.h"

namespace shunt {

namespace {

class Attention final : public Differentiable<AttentionParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "attention",
        .family = "attention",
        .summary =
            "Scaled dot product attention: y[:, h, t, s] = sum over n of p[n] * v[:, h', n, s], "
            "p = softmax over n, and over sinks[h] in the denominator only, of cap(scale * "
            "dot(q[:, h, t, s], k[:, h', n, s])) + slope[h] * mask[n, t, h, s], h' = h / (H / "
            "Hk). cap(z) = softcap * tanh(z / softcap), or z if softcap is 0; slope is that of "
            "ALiBi (arXiv 2108.12409), or 1 if max_bias is 0. Where all scores are minus "
            "infinity, or there are none, y is 0. Where k or v is F16 or BF16, a device may round "
            "the other factor to that type; where they are quantised, it computes as precisely as "
            "with F32. Keys that the mask hides by minus infinity may be skipped: a NaN in k or v "
            "there, or in a q that sees no key, may or may not reach y; a NaN anywhere else does.",
        .sources = {"q", "k", "v", "mask?", "sinks?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const AttentionParams& params) const override {
    const Tensor& q = *sources[0];
    const Tensor& k = *sources[1];
    const Tensor& v = *sources[2];
    SHUNT_TRY(expect_type("q", q, {DType::kF32}));
    SHUNT_TRY(expect_type("k", k, kCacheTypes));
    SHUNT_TRY(expect_type("v", v, kCacheTypes));
    SHUNT_TRY(expect_dim("k", k, 0, q.shape[0], "that of q"));
    SHUNT_TRY(expect_dim("k", k, 3, q.shape[3], "that of q"));
    for (int i : {1, 2, 3}) {
      SHUNT_TRY(expect_dim("v", v, i, k.shape[static_cast<std::size_t>(i)], "that of k"));
    }
    if (!divides(k.shape[1], q.shape[1])) {
      return invalid("the heads of k, {}, do not divide the heads of q, {}", to_string(k.shape[1]),
                     to_string(q.shape[1]));
    }
    SHUNT_TRY(
        check_mask(sources[3], {k.shape[2], q.shape[2], q.shape[1], q.shape[3]}, params.max_bias));
    SHUNT_TRY(check_sinks(sources[4], q.shape[1]));
    SHUNT_TRY(expect_finite("scale", params.scale));
    SHUNT_TRY(expect_not_negative("softcap", params.softcap));
    return contiguous(DType::kF32, {v.shape[0], q.shape[1], q.shape[2], q.shape[3]});
  }

  void plain_reference(RefSources sources, const AttentionParams& params,
                       RefTensor& result) const override {
    const RefTensor& q = *sources[0];
    const RefTensor& k = *sources[1];
    const RefTensor& v = *sources[2];
    const RefMask mask(sources[3], params.max_bias, q.sizes[1]);
    std::vector<double> p(static_cast<std::size_t>(k.sizes[2]));
    for_each_row(q.sizes, [&](std::int64_t h, std::int64_t t, std::int64_t s) {
      const std::int64_t hk = h / (q.sizes[1] / k.sizes[1]);
      for (std::size_t i = 0; i < p.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        double dot = 0;
        for (std::int64_t d = 0; d < q.sizes[0]; ++d) dot += q.at(d, h, t, s) * k.at(d, hk, n, s);
        p[i] = dot * params.scale;
        if (params.softcap != 0) p[i] = params.softcap * std::tanh(p[i] / params.softcap);
        p[i] += mask.at(n, t, h, s);
      }
      reference_softmax(p, sources[4], h);
      for (std::size_t i = 0; i < p.size(); ++i) {
        for (std::int64_t d = 0; d < v.sizes[0]; ++d) {
          result.at(d, h, t, s) += p[i] * v.at(d, hk, static_cast<std::int64_t>(i), s);
        }
      }
    });
  }

  /// Two products of matrices: a score a key from rows of q and k, then a sum over rows of v.
  double operations(const Tensor& result, SourceTensors sources, const Params&) const override {
    const auto keys = static_cast<double>(sources[1]->size(2));
    return 2.0 * keys *
           (static_cast<double>(element_count(sources[0]->shape)) +
            static_cast<double>(element_count(result.shape)));
  }

  /// Through the products and the softmax that it is made of.
  Status gradient_rule(Backward& node, const AttentionParams& params) const override {
    GraphBuilder& g = node.g;
    // The heads' queries, keys and values as matrices: [D, T, H, S], [D, N, Hk, S], [N, Dv, Hk, S].
    constexpr std::array<int, kMaxDims> kByHead = {0, 2, 1, 3};
    const Result<Value> q = permute(g, node.source(0), kByHead);
    const Result<Value> k = permute(g, as_f32(g, node.source(1)), kByHead);
    const Result<Value> v = cont(g, permute(g, as_f32(g, node.source(2)), {2, 0, 1, 3}));
    // The weight that each query gives to each value, [N, T, H, S], computed again.
    const bool capped = params.softcap != 0;
    Result<Value> bent;
    Result<Value> scores = matmul(g, k, q);
    if (capped) {
      bent = tanh(g, scale(g, scores, {.scale = params.scale / params.softcap}));
      scores = scale(g, bent, {.scale = params.softcap});
    }
    const SoftmaxParams how = {.scale = capped ? 1 : params.scale, .max_bias = params.max_bias};
    const Result<Value> p = softmax(g, scores, node.source(3), how, node.source(4));

    const Result<Value> dy = permute(g, node.dy(), kByHead);
    if (node.needs_gradient(2)) {
      SHUNT_ASSIGN(const Tensor of_v, g.find(v));
      const Result<Value> dv = matmul_back_by_w(g, dy, p, of_v.shape);
      SHUNT_TRY(node.add_gradient(2, permute(g, dv, {1, 2, 0, 3})));
    }
    if (!node.needs_gradient(0) && !node.needs_gradient(1)) return ok();
    SHUNT_ASSIGN(const Tensor of_p, g.find(p));
    Result<Value> dscores = softmax_back(g, matmul_back_by_x(g, dy, v, of_p.shape), p, how);
    if (capped) {
      // Of softcap * tanh(z * scale / softcap) by z: scale * (1 - tanh^2).
      const Result<Value> slope =
          scale(g, sqr(g, bent), {.scale = -params.scale, .bias = params.scale});
      dscores = mul(g, dscores, slope);
    }
    if (node.needs_gradient(0)) {
      SHUNT_ASSIGN(const Tensor of_q, g.find(q));
      SHUNT_TRY(
          node.add_gradient(0, permute(g, matmul_back_by_x(g, dscores, k, of_q.shape), kByHead)));
    }
    if (!node.needs_gradient(1)) return ok();
    SHUNT_ASSIGN(const Tensor of_k, g.find(k));
    return node.add_gradient(1, permute(g, matmul_back_by_w(g, dscores, q, of_k.shape), kByHead));
  }
};

}  // namespace

const Op& attention_op() {
  static const Attention kOp;
  return kOp;
}

Result<Value> attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand mask,
                        AttentionParams params, Operand sinks) {
  return g.apply(attention_op(), Params::of(params), {&q, &k, &v, &mask, &sinks});
}

}  // namespace shunt
