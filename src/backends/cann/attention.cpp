#include "backends/cann/attention.h"

#include <algorithm>
#include <limits>

#include "backend_support/error_share.h"
#include "backends/cann/scores.h"
#include "backends/cann/split_products.h"
#include "base/ceil_div.h"

namespace shunt::cann {

namespace {

/// Scores that are computed at once: 64 MiB.
constexpr std::int64_t kMostScores = std::int64_t{16} << 20;

/// Part of a dimension.
struct Range {
  std::int64_t first = 0;
  std::int64_t size = 0;
};
std::vector<Range> parts_of(std::int64_t size, std::int64_t most) {
  std::vector<Range> parts;
  for (std::int64_t first = 0; first < size; first += most)
    parts.push_back({first, std::min(most, size - first)});
  return parts;
}

/// The queries of some tokens, of the heads of q that share some heads of k.
struct Piece {
  Range tokens, kv_heads, slices;
};

/// Part of an operand [., T, H, S], where it is not repeated.
View part_of(View view, const Piece& piece, std::int64_t group) {
  const auto cut = [&](std::size_t d, const Range& range) {
    if (view.size(d) != 1) view = view.sliced(d, range.first, range.size);
  };
  cut(1, piece.tokens);
  cut(2, {piece.kv_heads.first * group, piece.kv_heads.size * group});
  cut(3, piece.slices);
  return view;
}

class Attention {
 public:
  Attention(Calls& calls, const CannTarget& target, const AttentionOperands& operands,
            const View& result)
      : calls_(calls),
        in_(operands),
        q_(operands.q.permuted({0, 2, 1, 3})),
        result_(result.permuted({0, 2, 1, 3})),
        scores_(calls, target, operands.k.type()),
        values_(calls, target, operands.v.type()),
        keys_(operands.k.size(1)),
        tokens_(q_.size(1)),
        kv_heads_(operands.k.size(2)),
        group_(q_.size(2) / kv_heads_),
        slices_(q_.size(3)) {}

  void run() {
    k_ = scores_.factor(in_.k);
    v_ = values_.factor(in_.v);
    if (in_.spoiled) spoiled_ = values_.factor(*in_.spoiled);
    // Memory that all pieces use. Its size depends on the pieces only by its limit, so that it
    // grows with each dimension.
    const std::int64_t row = keys_ * group_;
    const std::int64_t most = std::max(kMostScores, row);
    const std::int64_t room = std::min(most, row * tokens_ * kv_heads_ * slices_);
    z_ = calls_.temporary(DataType::kFloat, {room});
    spare_ = calls_.temporary(DataType::kFloat, {room});
    weights_ = calls_.temporary(values_.type(), {room});
    low_weights_ = values_.is_split() ? calls_.temporary(values_.type(), {room}) : View();
    for (const Piece& piece : pieces(most)) compute(piece);
  }

 private:
  std::vector<Piece> pieces(std::int64_t most) const {
    const std::int64_t head = keys_ * group_ * tokens_;
    if (head * kv_heads_ * slices_ <= most) return {{{0, tokens_}, {0, kv_heads_}, {0, slices_}}};
    std::vector<Piece> pieces;
    const std::int64_t heads = std::max<std::int64_t>(1, most / head);
    const std::int64_t tokens = head <= most ? tokens_ : most / (keys_ * group_);
    for (const Range& slices : parts_of(slices_, 1)) {
      for (const Range& kv_heads : parts_of(kv_heads_, heads)) {
        for (const Range& part : parts_of(tokens_, tokens))
          pieces.push_back({part, kv_heads, slices});
      }
    }
    return pieces;
  }

  void compute(const Piece& piece) {
    // The queries of the heads that share a head of k are rows of one matrix.
    const std::int64_t heads = piece.kv_heads.size * group_;
    const View::Dims of_heads = {keys_, piece.tokens.size, heads, piece.slices.size};
    const View z(DataType::kFloat, of_heads, z_.data());
    const View spare(DataType::kFloat, of_heads, spare_.data());
    scores_.multiply(queries(piece), of_piece(k_, piece, true), as_rows(z), spare);
    if (in_.softcap != 0) {
      calls_(kTanh, z, z);
      calls_(kInplaceMuls, z, in_.softcap);
    }
    if (in_.bias) add_bias(z, piece, spare);
    if (in_.hidden) {
      calls_(kInplaceMaskedFillScalar, z, part_of(*in_.hidden, piece, group_),
             -std::numeric_limits<float>::infinity());
    }
    std::optional<View> sinks;
    if (in_.sinks) sinks = part_of(*in_.sinks, piece, group_);
    average(z, sinks, piece, spare);
  }

  /// y = the sum of v at the weights of z.
  void average(const View& z, const std::optional<View>& sinks, const Piece& piece,
               const View& spare) {
    // Weights up to 1 have the most digits in F16. Their sums over v may be beyond it: where
    // results are F16, weights are divided by their sum before.
    const bool in_place =
        values_.type() == DataType::kFloat || values_.is_split() || values_.is_narrow();
    const View e = in_place ? z : View(values_.type(), z.sizes(), weights_.data());
    const ScoreSums sums = exponentials(calls_, z, sinks, e);
    if (values_.is_narrow()) calls_(kDiv, e, sums.rows, e);
    const Factor weights = rows_of(values_.factor(e, weights_, low_weights_, spare));
    View::Dims sizes = z.sizes();
    sizes[0] = result_.size(0);
    const View y = calls_.temporary(DataType::kFloat, sizes);
    values_.multiply(weights, of_piece(v_, piece, false), as_rows(y));
    if (spoiled_) spoil(y, weights, piece);
    if (in_.hidden) {
      // A weight of 0 times something that is not a number. A sum of weights is at least 1 where
      // a key is seen.
      const View sees_none = calls_.temporary(DataType::kBool, sums.rows.sizes());
      calls_(kLeScalar, sums.rows, 0.5F, sees_none);
      calls_(kInplaceMaskedFillScalar, y, sees_none, 0.0F);
    }
    const View to = part_of(result_, piece, group_);
    if (values_.is_narrow()) {
      if (!sinks) return calls_.copy(to, y);
      calls_(kInplaceMul, y, sums.rows);
    }
    calls_(kDiv, y, sums.total, to);
  }

  /// Where a weight meets something in v that is not a number, neither is the sum.
  void spoil(const View& y, const Factor& weights, const Piece& piece) {
    const View share = calls_.temporary(DataType::kFloat, y.sizes());
    values_.multiply(weights, of_piece(*spoiled_, piece, false), as_rows(share));
    const View is_spoiled = calls_.temporary(DataType::kBool, y.sizes());
    calls_(kGtScalar, share, 0.0F, is_spoiled);
    calls_(kInplaceMaskedFillScalar, y, is_spoiled, std::numeric_limits<float>::quiet_NaN());
  }

  Factor queries(const Piece& piece) {
    const View q = part_of(q_, piece, group_);
    const View scaled = calls_.temporary(DataType::kFloat, q.sizes());
    calls_(kMuls, q, in_.softcap == 0 ? in_.scale : in_.scale / in_.softcap, scaled);
    return rows_of(scores_.factor(scaled));
  }

  void add_bias(const View& z, const Piece& piece, const View& spare) {
    const View bias = part_of(*in_.bias, piece, group_);
    if (in_.max_bias == 0) return calls_(kInplaceAdd, z, bias, 1.0F);
    View::Dims sizes = bias.sizes();
    sizes[2] = z.size(2);
    const View scaled(DataType::kFloat, sizes, spare.data());
    const View slopes = slopes_of(calls_, in_.max_bias, q_.size(2));
    calls_(kMul, bias, part_of(slopes, piece, group_), scaled);
    calls_(kInplaceAdd, z, scaled, 1.0F);
  }

  /// [., T, H, S] as [., T * group, Hk, S].
  View as_rows(const View& view) const {
    return view.reshaped(
        {view.size(0), view.size(1) * group_, view.size(2) / group_, view.size(3)});
  }
  Factor rows_of(const Factor& factor) const {
    return {as_rows(factor.high), factor.low ? std::optional(as_rows(*factor.low)) : std::nullopt};
  }
  static Factor of_piece(const Factor& factor, const Piece& piece, bool transposed) {
    const auto cut = [&](const View& view) {
      const View part = view.sliced(2, piece.kv_heads.first, piece.kv_heads.size)
                            .sliced(3, piece.slices.first, piece.slices.size);
      return transposed ? part.transposed() : part;
    };
    return {cut(factor.high), factor.low ? std::optional(cut(*factor.low)) : std::nullopt};
  }

  Calls& calls_;
  const AttentionOperands& in_;
  View q_, result_;  // [., T, H, S]
  Products scores_, values_;
  std::int64_t keys_, tokens_, kv_heads_, group_, slices_;
  Factor k_, v_;
  std::optional<Factor> spoiled_;
  View z_, spare_, weights_, low_weights_;
};

}  // namespace

void attend(Calls& calls, const CannTarget& target, const AttentionOperands& operands,
            const View& result) {
  Attention(calls, target, operands, result).run();
}

View attention_elements(Calls& calls, const StoredTensor& from) {
  if (from.type == DType::kF16) return plain_view(from);
  if (from.type == DType::kBF16 && calls.chip().bf16) return plain_view(from);
  return elements_of(calls, from, DataType::kFloat);
}

double attention_error(const NodeView& view, float scale, const CannTarget& target, bool in_half) {
  if (!in_half && !has_coarse_products(target)) return 0;
  // As much as keys of F16 cost at scores of about 1. That of scores, which are F16 as well, grows
  // with them.
  constexpr double kError = 5e-7;
  const double scores = static_cast<double>(scale) * static_cast<double>(scale) *
                        static_cast<double>(view.source(0).shape[0].max);
  return kError * (1 + scores) * error_share(view.result());
}

}  // namespace shunt::cann
