// How the work of attention is cut, and the data that its pieces keep in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/attention_mask.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/attention.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

/// The most rows (queries times heads) that share a head of k for which the work is shared out by
/// keys.
inline constexpr std::int64_t kSplitRows = 64;
/// Rows of a part, at least, if there are as many.
inline constexpr std::int64_t kFewRows = 32;
/// Rows of a part, at most: for all of them keys are decoded once.
inline constexpr std::int64_t kMostRows = 256;
/// Parts are smaller than that if there would be fewer items than these.
inline constexpr std::int64_t kItems = 16;
/// Keys in a stretch, at least: where there are few queries, stretches are shared out. The cut of
/// keys into stretches never depends on the number of threads, nor on that of queries.
inline constexpr std::int64_t kStretch = 256;
/// The maximum number of stretches. With more keys, stretches are longer instead.
inline constexpr std::int64_t kMostStretches = 64;

constexpr std::int64_t round_up_to(std::int64_t n, std::int64_t multiple) {
  return ceil_div(n, multiple) * multiple;
}
constexpr std::int64_t padded(std::int64_t n) {
  return round_up_to(n, simd::kKeyGroup);
}

/// Floats from one row of n to the next. Rows that are a power of two apart would compete for the
/// same cache lines.
constexpr std::int64_t row_stride(std::int64_t n) {
  constexpr std::int64_t kGap = 16;
  return padded(n) + kGap;
}

/// Floats that are gathered for one row.
constexpr std::int64_t gathered_stride(std::int64_t dv) {
  return padded(dv) + simd::kRowTail;
}

/// Rows of a part such that they and their gathered floats leave room in the L2 cache.
constexpr std::int64_t most_rows(std::int64_t d, std::int64_t dv) {
  constexpr std::int64_t kFloats = 128 * 1024;
  return std::clamp(kFloats / (row_stride(d) + 2 * gathered_stride(dv)), kFewRows, kMostRows);
}

/// Bytes of a row, or 0 if its elements are not contiguous.
inline std::int64_t row_bytes(const TensorArg& tensor) {
  if (!has_plain_rows(tensor)) return 0;
  return tensor.sizes[0] / trait(tensor.dtype).block_elements * tensor.strides[0];
}

/// A part is some queries and heads that share a head of k and v.
struct AttentionCut {
  std::int64_t k_heads;
  std::int64_t shared;       ///< heads of q that share one of k
  std::int64_t heads;        ///< of a part, at most
  std::int64_t queries;      ///< of a part, at most
  std::int64_t head_parts;   ///< parts that a head of k has
  std::int64_t query_parts;  ///< parts that the queries of a head are in
  std::int64_t parts;        ///< in all
  std::int64_t rows;         ///< of a part, at most
  std::int64_t keys;
  std::int64_t stretch;    ///< keys of a stretch
  std::int64_t stretches;  ///< at least 1
  bool split;              ///< the stretches of parts are items of their own
  std::int64_t together;   ///< parts whose stretch is one item, if split
  std::int64_t groups;     ///< of `together` parts

  /// For a result that has elements.
  explicit AttentionCut(const Call& call)
      : k_heads(call.sources[1].sizes[1]),
        shared(call.result.sizes[1] / k_heads),
        keys(call.sources[1].sizes[2]),
        stretch(std::max(kStretch, round_up_to(ceil_div(keys, kMostStretches), simd::kKeyBlock))),
        stretches(std::max<std::int64_t>(1, ceil_div(keys, stretch))) {
    const std::int64_t all_queries = call.result.sizes[2];
    const std::int64_t all_k_heads = k_heads * call.result.sizes[3];
    split = stretches > 1 && (all_queries == 1 || shared * all_queries <= kSplitRows);
    const std::int64_t work = all_k_heads * shared * all_queries * (split ? stretches : 1);
    const std::int64_t limit = most_rows(call.sources[0].sizes[0], call.result.sizes[0]);
    const std::int64_t least = split ? std::min(kSplitRows, limit) : kFewRows;
    const std::int64_t most = std::clamp(ceil_div(work, kItems), least, limit);
    // Parts of about the same size.
    head_parts = ceil_div(shared, most);
    heads = ceil_div(shared, head_parts);
    query_parts = ceil_div(all_queries, most / heads);
    queries = ceil_div(all_queries, query_parts);
    parts = query_parts * head_parts * all_k_heads;
    rows = heads * queries;
    // The number of adjacent heads of k that an item takes together. A block of these heads, and
    // the next, fit the L2 cache. The number divides that of all heads.
    constexpr std::int64_t kBlockBytes = 128 * 1024;
    const std::int64_t key_bytes = row_bytes(call.sources[1]) + row_bytes(call.sources[2]);
    const std::int64_t fit =
        std::min({k_heads, limit / rows,
                  kBlockBytes / (simd::kKeyBlock * std::max<std::int64_t>(1, key_bytes)),
                  parts * stretches / kItems});
    together = split && head_parts == 1 ? std::max<std::int64_t>(1, fit) : 1;
    while (k_heads % together != 0) --together;
    groups = ceil_div(parts, together);
  }
};

/// The rows of the result, [Dv, H, T, S], that a part has, numbered query by query. The last of
/// them may be none.
struct AttentionPart {
  std::int64_t k_head = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t sequence = 0;

  /// Parts that share a head of k follow each other.
  static AttentionPart of(const Call& call, const AttentionCut& cut, std::int64_t number) {
    const auto left = [](std::int64_t most, std::int64_t all, std::int64_t before) {
      return std::max<std::int64_t>(0, std::min(most, all - before));
    };
    const std::int64_t group = number / cut.query_parts % cut.head_parts;
    const std::int64_t outer = number / (cut.query_parts * cut.head_parts);
    AttentionPart part;
    part.k_head = outer % cut.k_heads;
    part.sequence = outer / cut.k_heads;
    part.first_head = part.k_head * cut.shared + group * cut.heads;
    part.heads = left(cut.heads, cut.shared, group * cut.heads);
    part.first_query = number % cut.query_parts * cut.queries;
    part.queries = left(cut.queries, call.result.sizes[2], part.first_query);
    return part;
  }
  std::int64_t rows() const { return queries * heads; }
  std::int64_t head(std::int64_t row) const { return first_head + row % heads; }
  std::int64_t query(std::int64_t row) const { return first_query + row / heads; }
};

/// The sums of some keys for one row. With m the largest score so far, in units of ln 2, these are
/// sums of w = 2^(score - m), and the sum of values times w. A view of gathered_stride(dv) floats.
/// Where a score is not a number, neither is a sum of w.
struct Gathered {
  simd::Level level;
  float* values;   ///< [padded(dv)]
  float* weights;  ///< [kWeightSums]: all together are the sum
  float* largest;
  std::int64_t sums;  ///< values and weights, which follow them

  Gathered(simd::Level vector_level, float* start, std::int64_t dv)
      : level(vector_level),
        values(start),
        weights(start + padded(dv)),
        largest(weights + simd::kWeightSums),
        sums(padded(dv) + simd::kWeightSums) {}

  void clear() const {
    std::fill_n(values, sums, 0.0F);
    *largest = -std::numeric_limits<float>::infinity();
  }
  /// Adds the sums of keys after them.
  void add(const Gathered& later) const {
    const float all = std::max(*largest, *later.largest);
    const float kept = weight(*largest, all);
    simd::mul(level, values, kept, values, sums);
    simd::scale_add(level, later.values, weight(*later.largest, all), values, values, sums);
    *largest = all;
  }
  /// Their weighted mean, in which a sink takes part with values of 0; zeros if all scores are
  /// minus infinity, or if there are none; not-a-number if one is.
  void mean(float sink, float* y, std::int64_t dv) const {
    const float weighed = simd::sum(level, weights, simd::kWeightSums);
    const float all = sink > *largest || std::isnan(sink) ? sink : *largest;
    if (all == -std::numeric_limits<float>::infinity() && weighed == 0) {
      std::fill_n(y, dv, 0.0F);
      return;
    }
    const float kept = weight(*largest, all);
    simd::mul(level, values, kept / (weighed * kept + weight(sink, all)), y, dv);
  }

 private:
  /// 0, too, if there is nothing but minus infinity.
  static float weight(float score, float all) {
    return score == -std::numeric_limits<float>::infinity() ? 0 : std::exp2(score - all);
  }
};

/// A worker's scratch.
struct AttentionRoom {
  simd::Level level;
  std::int64_t d;
  std::int64_t dv;
  std::int64_t q_stride;
  std::int64_t value_stride;
  std::int64_t stride;  ///< of gathered rows
  float* keys;          ///< [kKeyBlock][padded(d)], packed
  float* values;        ///< [kKeyBlock][value_stride]
  float* decoded;       ///< [kKeyGroup][padded(d)]: keys that can't be packed as they are
  float* mask;          ///< [kTileRows][kKeyBlock]
  float* q;             ///< [rows][q_stride]
  float* gathered;      ///< [rows][stride]: of a stretch
  float* joined;        ///< [rows][stride]: of all stretches
  float* slopes;        ///< [rows]: factors of the mask
  SeenKeys* seen;       ///< [rows]: the effect of the mask on a block
  bool* live;           ///< [rows]: the mask hides not all of a stretch
  bool packs_keys;      ///< as they are
  bool packs_values;
  bool pairs;              ///< of BF16 in place of floats: in keys, values and q
  bool rows_of_f16;        ///< k and v are, of whole groups: they can be used as they are
  std::int64_t key_bytes;  ///< row_bytes
  std::int64_t value_bytes;

  AttentionRoom(float* start, const Call& call, std::int64_t rows)
      : level(call.level()),
        d(call.sources[0].sizes[0]),
        dv(call.result.sizes[0]),
        q_stride(row_stride(d)),
        value_stride(padded(dv) <= 128 ? padded(dv) : row_stride(dv)),
        stride(gathered_stride(dv)),
        keys(start),
        values(keys + simd::kKeyBlock * padded(d)),
        decoded(values + simd::kKeyBlock * value_stride),
        mask(decoded + simd::kKeyGroup * padded(d)),
        q(mask + simd::kTileRows * simd::kKeyBlock),
        gathered(q + rows * q_stride),
        joined(gathered + rows * stride),
        slopes(joined + rows * stride),
        seen(reinterpret_cast<SeenKeys*>(slopes + rows + rows % 2)),
        live(reinterpret_cast<bool*>(seen + rows)),
        packs_keys(packs(call.sources[1])),
        packs_values(packs(call.sources[2])),
        pairs(packs_keys && packs_values && call.sources[1].dtype == DType::kBF16 &&
              call.sources[2].dtype == DType::kBF16 && d % (2 * simd::kKeyGroup) == 0 &&
              dv % simd::kKeyGroup == 0 && simd::has_pairs(level)),
        rows_of_f16(packs_keys && packs_values && call.sources[1].dtype == DType::kF16 &&
                    call.sources[2].dtype == DType::kF16 && d % simd::kKeyGroup == 0 &&
                    dv % simd::kKeyGroup == 0),
        key_bytes(row_bytes(call.sources[1])),
        value_bytes(row_bytes(call.sources[2])) {}
  static std::size_t bytes(std::int64_t d, std::int64_t dv, std::int64_t rows) {
    const std::int64_t floats =
        (simd::kKeyBlock + simd::kKeyGroup) * padded(d) + simd::kKeyBlock * row_stride(dv) +
        simd::kTileRows * simd::kKeyBlock + rows * (row_stride(d) + 2 * gathered_stride(dv) + 2);
    return static_cast<std::size_t>(floats) * sizeof(float) +
           static_cast<std::size_t>(rows) * (sizeof(SeenKeys) + sizeof(bool));
  }

 private:
  static bool packs(const TensorArg& tensor) {
    return has_plain_rows(tensor) && simd::packs(tensor.dtype);
  }
};

}  // namespace shunt::cpu
