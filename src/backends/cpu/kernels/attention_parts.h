// How the work of attention is cut, and what its pieces keep in memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/matmul.h"
#include "backends/cpu/simd/vector.h"

namespace shunt::cpu {

/// Keys in a block.
inline constexpr std::int64_t kKeyBlock = 64;
/// Queries times heads of a part, at most.
inline constexpr std::int64_t kPartRows = 32;
/// Keys in a stretch, at least: where there are few queries, stretches are shared out. How keys are
/// cut into them never hangs on the number of threads, nor on that of queries.
inline constexpr std::int64_t kStretch = 256;
/// There are no more than so many; they are longer instead.
inline constexpr std::int64_t kMostStretches = 64;

constexpr std::int64_t padded(std::int64_t n) {
  return ceil_div(n, simd::kPanelDepth) * simd::kPanelDepth;
}

/// Floats from one row of n to the next. Rows that are a power of two apart would compete for the
/// same cache lines.
constexpr std::int64_t row_stride(std::int64_t n) {
  constexpr std::int64_t kGap = 16;
  return padded(n) + kGap;
}

/// A part is some queries and heads that share a head of k and v.
struct AttentionCut {
  std::int64_t k_heads;
  std::int64_t shared;       ///< heads of q that share one of k
  std::int64_t heads;        ///< of a part
  std::int64_t queries;      ///< of a part
  std::int64_t head_parts;   ///< parts that a head of k has
  std::int64_t query_parts;  ///< parts that the queries of a head are in
  std::int64_t parts;        ///< in all
  std::int64_t rows;         ///< of a part, at most
  std::int64_t keys;
  std::int64_t stretch;    ///< keys of a stretch
  std::int64_t stretches;  ///< at least 1

  /// For a result that has elements.
  explicit AttentionCut(const Call& call)
      : k_heads(call.sources[1].sizes[1]),
        shared(call.result.sizes[1] / k_heads),
        heads(std::min(shared, kPartRows)),
        queries(kPartRows / heads),
        head_parts(ceil_div(shared, heads)),
        query_parts(ceil_div(call.result.sizes[2], queries)),
        parts(query_parts * head_parts * k_heads * call.result.sizes[3]),
        rows(heads * std::min(queries, call.result.sizes[2])),
        keys(call.sources[1].sizes[2]),
        stretch(std::max(kStretch, round_to_blocks(ceil_div(keys, kMostStretches)))),
        stretches(std::max<std::int64_t>(1, ceil_div(keys, stretch))) {}

  /// Whether the stretches of a part are items of their own: otherwise there are parts enough.
  bool split() const { return query_parts == 1 && stretches > 1; }

 private:
  static std::int64_t round_to_blocks(std::int64_t n) { return ceil_div(n, kKeyBlock) * kKeyBlock; }
};

/// The rows of the result, [Dv, H, T, S], that a part has, numbered query by query.
struct AttentionPart {
  std::int64_t k_head = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t sequence = 0;

  /// Parts that share a head of k follow each other.
  static AttentionPart of(const Call& call, const AttentionCut& cut, std::int64_t number) {
    const std::int64_t group = number / cut.query_parts % cut.head_parts;
    const std::int64_t outer = number / (cut.query_parts * cut.head_parts);
    AttentionPart part;
    part.k_head = outer % cut.k_heads;
    part.sequence = outer / cut.k_heads;
    part.first_head = part.k_head * cut.shared + group * cut.heads;
    part.heads = std::min(cut.heads, cut.shared - group * cut.heads);
    part.first_query = number % cut.query_parts * cut.queries;
    part.queries = std::min(cut.queries, call.result.sizes[2] - part.first_query);
    return part;
  }
  std::int64_t rows() const { return queries * heads; }
  std::int64_t head(std::int64_t row) const { return first_head + row % heads; }
  std::int64_t query(std::int64_t row) const { return first_query + row / heads; }
};

/// What some keys give for one row: with m the largest score so far, the sum of w = exp(score - m),
/// and the sum of values times w. A view of row_stride(dv) floats.
struct Gathered {
  float* values;  ///< [dv]
  float* largest;
  float* weights;

  Gathered(float* start, std::int64_t dv)
      : values(start), largest(start + padded(dv)), weights(largest + 1) {}

  void clear(std::int64_t dv) const {
    std::fill_n(values, padded(dv), 0.0F);
    *largest = -std::numeric_limits<float>::infinity();
    *weights = 0;
  }
  /// Adds what keys after them give.
  void add(const Gathered& later, std::int64_t dv) const {
    if (*later.largest == -std::numeric_limits<float>::infinity()) return;
    const float before = *largest;
    if (!(*later.largest <= before)) *largest = *later.largest;  // also if it is not-a-number
    const float kept = std::exp(before - *largest);
    const float added = std::exp(*later.largest - *largest);
    *weights = *weights * kept + *later.weights * added;
    simd::mul(values, kept, values, dv);
    simd::scale_add(later.values, added, values, values, dv);
  }
  /// Their weighted mean, in which a sink takes part with values of 0; zeros if all scores are
  /// minus infinity, or if there are none; not-a-number if one is.
  void mean(float sink, float* y, std::int64_t dv) const {
    float all = *largest;
    if (sink > all || std::isnan(sink)) all = sink;  // not-a-number stays, from either
    if (all == -std::numeric_limits<float>::infinity()) {
      std::fill_n(y, dv, 0.0F);
      return;
    }
    const float kept = std::exp(*largest - all);
    simd::mul(values, kept / (*weights * kept + std::exp(sink - all)), y, dv);
  }
};

/// A worker's scratch.
struct AttentionRoom {
  std::int64_t dv;
  std::int64_t stride;        ///< of q and k, in floats
  std::int64_t value_stride;  ///< of v and what is gathered
  float* q;                   ///< [kPartRows][stride]
  float* k;                   ///< [kKeyBlock][stride]
  float* v;                   ///< [kKeyBlock][value_stride]
  float* gathered;            ///< [kPartRows][value_stride]: of a stretch
  float* joined;              ///< [kPartRows][value_stride]: of all stretches
  float* scores;              ///< [kPartRows][kKeyBlock]
  float* mask;                ///< [kPartRows][kKeyBlock]
  float* slopes;              ///< [kPartRows]: what the mask is multiplied with

  AttentionRoom(float* start, std::int64_t d, std::int64_t of_values)
      : dv(of_values),
        stride(row_stride(d)),
        value_stride(row_stride(dv)),
        q(start),
        k(q + kPartRows * stride),
        v(k + kKeyBlock * stride),
        gathered(v + kKeyBlock * value_stride),
        joined(gathered + kPartRows * value_stride),
        scores(joined + kPartRows * value_stride),
        mask(scores + kPartRows * kKeyBlock),
        slopes(mask + kPartRows * kKeyBlock) {}
  static std::size_t bytes(std::int64_t d, std::int64_t dv) {
    const std::int64_t floats = (kPartRows + kKeyBlock) * row_stride(d) +
                                (2 * kPartRows + kKeyBlock) * row_stride(dv) +
                                2 * kPartRows * kKeyBlock + kPartRows;
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
};

}  // namespace shunt::cpu
