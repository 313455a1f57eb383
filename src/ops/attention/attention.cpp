#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention/attention.h"
#include "ops/attention/attention_cases.h"
#include "ops/common/checks.h"
#include "ops/common/loops.h"

namespace shunt {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Attention final : public OpWith<AttentionParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "attention",
        .family = "attention",
        .summary =
            "Scaled dot product attention: y[:, h, t, s] = sum over n of p[n] * v[:, h', n, s], "
            "p = softmax over n of scale * dot(q[:, h, t, s], k[:, h', n, s]) + mask[n, t, h, "
            "s], h' = h / (H / Hk). Where all scores are minus infinity, or there are none, y "
            "is 0. Where k or v is F16 or BF16, a device may round what it multiplies with it "
            "to that type.",
        .sources = {"q", "k", "v", "mask?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources, const AttentionParams& params) const override {
    const Tensor& q = *sources[0];
    const Tensor& k = *sources[1];
    const Tensor& v = *sources[2];
    SHUNT_TRY(expect_type("q", q, {DType::kF32}));
    SHUNT_TRY(expect_type("k", k, {DType::kF32, DType::kF16, DType::kBF16}));
    SHUNT_TRY(expect_type("v", v, {DType::kF32, DType::kF16, DType::kBF16}));
    SHUNT_TRY(expect_dim("k", k, 0, q.shape[0], "that of q"));
    SHUNT_TRY(expect_dim("k", k, 3, q.shape[3], "that of q"));
    for (int i : {1, 2, 3}) {
      SHUNT_TRY(expect_dim("v", v, i, k.shape[static_cast<std::size_t>(i)], "that of k"));
    }
    if (!divides(k.shape[1], q.shape[1])) {
      return invalid("the heads of k, {}, do not divide the heads of q, {}", to_string(k.shape[1]),
                     to_string(q.shape[1]));
    }
    if (sources[3] != nullptr) {
      SHUNT_TRY(expect_mask(*sources[3], {k.shape[2], q.shape[2], q.shape[1], q.shape[3]}));
    }
    SHUNT_TRY(expect_finite("scale", params.scale));
    return contiguous(DType::kF32, {v.shape[0], q.shape[1], q.shape[2], q.shape[3]});
  }

  void plain_reference(RefSources sources, const AttentionParams& params,
                       RefTensor& result) const override {
    const RefTensor& q = *sources[0];
    const RefTensor& k = *sources[1];
    const RefTensor& v = *sources[2];
    const RefTensor* mask = sources[3];
    std::vector<double> p(static_cast<std::size_t>(k.sizes[2]));
    for_each_row(q.sizes, [&](std::int64_t h, std::int64_t t, std::int64_t s) {
      const std::int64_t hk = h / (q.sizes[1] / k.sizes[1]);
      double largest = -kInfinity;
      for (std::size_t i = 0; i < p.size(); ++i) {
        const auto n = static_cast<std::int64_t>(i);
        double dot = 0;
        for (std::int64_t d = 0; d < q.sizes[0]; ++d) dot += q.at(d, h, t, s) * k.at(d, hk, n, s);
        p[i] = dot * params.scale;
        if (mask != nullptr) p[i] += mask->at(n, t, h % mask->sizes[2], s % mask->sizes[3]);
        largest = std::max(largest, p[i]);
      }
      if (largest == -kInfinity) return;  // the result is zeros to begin with
      double sum = 0;
      for (double& score : p) sum += score = std::exp(score - largest);
      for (std::size_t i = 0; i < p.size(); ++i) {
        for (std::int64_t d = 0; d < v.sizes[0]; ++d) {
          result.at(d, h, t, s) += p[i] / sum * v.at(d, hk, static_cast<std::int64_t>(i), s);
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

  void cases(const CaseSink& sink) const override { attention_cases(sink); }
};

}  // namespace

const Op& attention_op() {
  static const Attention kOp;
  return kOp;
}

Result<Value> attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand mask,
                        AttentionParams params) {
  return g.apply(attention_op(), Params::of(params), {&q, &k, &v, &mask});
}

}  // namespace shunt
