#include <algorithm>
#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/scores.h"
#include "ops/common/cache_types.h"
#include "ops/common/checks.h"

namespace shunt {

std::string_view to_string(AttentionSpan span) {
  switch (span) {
    case AttentionSpan::kCausal:
      return "causal";
    case AttentionSpan::kSlidingWindow:
      return "sliding window";
    case AttentionSpan::kChunked:
      return "chunked";
    case AttentionSpan::kBidirectional:
      return "bidirectional";
    case AttentionSpan::kBidirectionalWindow:
      return "bidirectional window";
  }
  return "unknown";
}

SeenSpan seen_span(AttentionSpan span, std::int64_t window, std::int64_t position,
                   std::int64_t length) {
  const std::int64_t half = window / 2;
  switch (span) {
    case AttentionSpan::kCausal:
      return {0, position + 1};
    case AttentionSpan::kSlidingWindow:
      return {std::max<std::int64_t>(0, position + 1 - window), position + 1};
    case AttentionSpan::kChunked:
      return {position / window * window, position + 1};
    case AttentionSpan::kBidirectional:
      return {0, length};
    case AttentionSpan::kBidirectionalWindow:
      return {std::max<std::int64_t>(0, position - half), std::min(length, position + half + 1)};
  }
  return {};
}

namespace {

/// A sequence of a plain reference.
class RefSequence {
 public:
  RefSequence(RefSources sources, const PagedAttentionParams& params, std::int64_t number)
      : sources_(sources), params_(params), number_(number) {}

  std::int64_t length() const { return static_cast<std::int64_t>(sources_[3]->at(1, number_)); }

  /// Of token t at a position, for head h. Zeros if a row is not there, where a run fails.
  void attend(std::int64_t t, std::int64_t h, std::int64_t position, RefTensor& result) const {
    const RefTensor& v = *sources_[2];
    const SeenSpan seen = seen_span(params_.span, params_.window, position, length());
    for (std::int64_t n = seen.first; n < seen.end; ++n) {
      if (row_of(n) < 0) return;
    }
    std::vector<double> p;
    for (std::int64_t n = seen.first; n < seen.end; ++n) p.push_back(score(n, t, h, position));
    reference_softmax(p, sources_[6], h);
    const std::int64_t hk = kv_head(h);
    for (std::int64_t n = seen.first; n < seen.end; ++n) {
      const double weight = p[static_cast<std::size_t>(n - seen.first)];
      for (std::int64_t d = 0; d < v.sizes[0]; ++d)
        result.at(d, h, t) += weight * v.at(d, hk, row_of(n));
    }
  }

 private:
  std::int64_t kv_head(std::int64_t h) const {
    return h / (sources_[0]->sizes[1] / sources_[1]->sizes[1]);
  }

  /// The row of key n; -1: there is none.
  std::int64_t row_of(std::int64_t n) const {
    const RefTensor& table = *sources_[4];
    const auto i = static_cast<std::int64_t>(sources_[3]->at(2, number_)) + n / params_.block;
    if (i < 0 || i >= table.sizes[0]) return -1;
    const auto row = static_cast<std::int64_t>(table.at(i)) * params_.block + n % params_.block;
    return row < sources_[1]->sizes[2] ? row : -1;
  }

  double score(std::int64_t n, std::int64_t t, std::int64_t h, std::int64_t position) const {
    const RefTensor& q = *sources_[0];
    const RefTensor& k = *sources_[1];
    const RefTensor* const mask = sources_[5];
    double dot = 0;
    for (std::int64_t d = 0; d < q.sizes[0]; ++d)
      dot += q.at(d, h, t) * k.at(d, kv_head(h), row_of(n));
    double score = dot * params_.scale;
    if (params_.softcap != 0) score = params_.softcap * std::tanh(score / params_.softcap);
    double bias = mask == nullptr ? 0 : mask->at(n, t, h % mask->sizes[2]);
    if (params_.max_bias > 0) bias -= static_cast<double>(std::abs(position - n));
    return score + alibi_slope(params_.max_bias, q.sizes[1], h) * bias;
  }

  RefSources sources_;
  const PagedAttentionParams& params_;
  std::int64_t number_;
};

class PagedAttention final : public OpWith<PagedAttentionParams> {
 public:
  const OpInfo& info() const override {
    static const OpInfo kInfo = {
        .name = "paged_attention",
        .family = "attention",
        .summary =
            "Attention of tokens of several sequences over a KV cache in blocks (arXiv "
            "2309.06180). sequences[:, s]: the end of its tokens in q, its number of keys, its "
            "first entry in block_table. Key n is row block_table[first + n / block] * block + n % "
            "block of k and v. y[:, h, t] = sum over the keys n in the span of p[n] * v[:, h', "
            "row(n)], p = softmax over these, and over sinks[h] in the denominator only, of "
            "cap(scale * dot(q[:, h, t], k[:, h', row(n)])) + slope[h] * (mask[n, t, h] - a), h' = "
            "h / (H / Hk); a is the distance of the positions if max_bias is above 0, else 0. cap "
            "and slope are those of attention. A token of no sequence, or that sees no key, gives "
            "0. Where k or v is F16 or BF16, a device may round the other factor to that type; "
            "where they are quantised, it computes as precisely as with F32.",
        .sources = {"q", "k", "v", "sequences", "block_table", "mask?", "sinks?"}};
    return kInfo;
  }

  Result<Inferred> shape_rule(SourceTensors sources,
                              const PagedAttentionParams& params) const override {
    const Tensor& q = *sources[0];
    const Tensor& k = *sources[1];
    const Tensor& v = *sources[2];
    SHUNT_TRY(expect_type("q", q, {DType::kF32}));
    SHUNT_TRY(expect_type("k", k, kCacheTypes));
    SHUNT_TRY(expect_type("v", v, kCacheTypes));
    SHUNT_TRY(expect_dims("q", q, 3));
    SHUNT_TRY(expect_dims("k", k, 3));
    SHUNT_TRY(expect_dims("v", v, 3));
    SHUNT_TRY(expect_dim("k", k, 0, q.shape[0], "that of q"));
    for (int i : {1, 2}) {
      SHUNT_TRY(expect_dim("v", v, i, k.shape[static_cast<std::size_t>(i)], "that of k"));
    }
    if (!divides(k.shape[1], q.shape[1])) {
      return invalid("the heads of k, {}, do not divide the heads of q, {}", to_string(k.shape[1]),
                     to_string(q.shape[1]));
    }
    SHUNT_TRY(expect_type("sequences", *sources[3], {DType::kI32}));
    SHUNT_TRY(expect_dims("sequences", *sources[3], 2));
    SHUNT_TRY(expect_dim("sequences", *sources[3], 0, 3, "end, keys and first entry"));
    SHUNT_TRY(expect_type("block_table", *sources[4], {DType::kI32}));
    SHUNT_TRY(expect_dims("block_table", *sources[4], 1));
    if (sources[5] != nullptr) {
      SHUNT_TRY(expect_mask(*sources[5], {sources[5]->shape[0], q.shape[2], q.shape[1], 1}));
    }
    SHUNT_TRY(check_sinks(sources[6], q.shape[1]));
    SHUNT_TRY(check_params(params));
    return contiguous(DType::kF32, {v.shape[0], q.shape[1], q.shape[2], 1});
  }

  void plain_reference(RefSources sources, const PagedAttentionParams& params,
                       RefTensor& result) const override {
    const RefTensor& sequences = *sources[3];
    std::int64_t begin = 0;
    for (std::int64_t s = 0; s < sequences.sizes[1]; ++s) {
      const auto end = std::min(static_cast<std::int64_t>(sequences.at(0, s)), result.sizes[2]);
      const RefSequence sequence(sources, params, s);
      for (std::int64_t t = begin; t < end; ++t) {
        for (std::int64_t h = 0; h < result.sizes[1]; ++h)
          sequence.attend(t, h, sequence.length() - end + t, result);
      }
      begin = std::max(begin, end);
    }
  }

  /// Two products of matrices: a score a key from rows of q and k, then a sum over rows of v. The
  /// blocks are those of all sequences, whose tokens are taken to be as many.
  double operations(const Tensor& result, SourceTensors sources,
                    const Params& params) const override {
    const auto sequences = static_cast<double>(std::max<std::int64_t>(1, sources[3]->size(1)));
    const double keys =
        std::min(static_cast<double>(sources[1]->size(2)),
                 static_cast<double>(sources[4]->size(0)) *
                     static_cast<double>(params.get<PagedAttentionParams>().block) / sequences);
    return 2.0 * keys *
           (static_cast<double>(element_count(sources[0]->shape)) +
            static_cast<double>(element_count(result.shape)));
  }

 private:
  static Status check_params(const PagedAttentionParams& params) {
    constexpr std::int64_t kRows = 16;
    constexpr std::int64_t kMostRows = 65536;
    SHUNT_TRY(expect_finite("scale", params.scale));
    SHUNT_TRY(check_max_bias(params.max_bias));
    SHUNT_TRY(expect_not_negative("softcap", params.softcap));
    const bool windowed =
        params.span != AttentionSpan::kCausal && params.span != AttentionSpan::kBidirectional;
    if (windowed && params.window < 1) {
      return invalid("window is {}, but a {} span has at least 1", params.window,
                     to_string(params.span));
    }
    if (!windowed && params.window != 0) {
      return invalid("window is {}, but a {} span has none", params.window, to_string(params.span));
    }
    if (params.block >= kRows && params.block <= kMostRows && params.block % kRows == 0)
      return ok();
    return invalid("block is {}, which is not a multiple of {} from {} to {}", params.block, kRows,
                   kRows, kMostRows);
  }
};

}  // namespace

const Op& paged_attention_op() {
  static const PagedAttention kOp;
  return kOp;
}

Result<Value> paged_attention(GraphBuilder& g, Operand q, Operand k, Operand v, Operand sequences,
                              Operand block_table, PagedAttentionParams params, Operand mask,
                              Operand sinks) {
  return g.apply(paged_attention_op(), Params::of(params),
                 {&q, &k, &v, &sequences, &block_table, &mask, &sinks});
}

}  // namespace shunt
