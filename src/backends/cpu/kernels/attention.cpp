#include <cmath>
#include <limits>

#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/matmul.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/attention.h"

// Softmax over blocks of keys as they come (arXiv 1805.02867): for each query the largest score so
// far, the sum of exp(score - largest) and the sum of values weighted so are kept, and scaled down
// when a larger score turns up. An item is a number of queries and heads that share a head of k and
// v, which is decoded to F32 a block at a time and then used by all of them.

namespace shunt::cpu {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
/// Keys in a block.
constexpr std::int64_t kBlock = 64;
/// Queries times heads of an item, at most.
constexpr std::int64_t kItemRows = 32;
/// How many keys ahead of the one that is decoded memory is asked for.
constexpr std::int64_t kPrefetch = 16;
/// Floats between rows that are a power of two apart otherwise, and would compete for the same
/// cache lines.
constexpr std::int64_t kGap = 16;

constexpr std::int64_t padded(std::int64_t n) {
  return ceil_div(n, simd::kPanelDepth) * simd::kPanelDepth;
}

constexpr std::int64_t row_stride(std::int64_t n) {
  return padded(n) + kGap;
}

/// How the result [Dv, H, T, S] is cut.
struct Cut {
  std::int64_t shared;   ///< heads of q that share one of k
  std::int64_t heads;    ///< of an item
  std::int64_t queries;  ///< of an item

  explicit Cut(const Call& call)
      : shared(call.result.sizes[1] / call.sources[1].sizes[1]),
        heads(std::min(shared, kItemRows)),
        queries(kItemRows / heads) {}

  std::int64_t head_items() const { return ceil_div(shared, heads); }
  std::int64_t query_items(const Call& call) const {
    return ceil_div(call.result.sizes[2], queries);
  }
};

/// The part of the result that an item computes. Its rows are numbered query by query.
struct Part {
  std::int64_t k_head = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t sequence = 0;

  /// Items that share a head of k follow each other.
  static Part of(const Call& call, const Cut& cut, std::int64_t item) {
    const std::int64_t k_heads = call.sources[1].sizes[1];
    const std::int64_t across = cut.query_items(call);
    const std::int64_t group = item / across % cut.head_items();
    const std::int64_t outer = item / (across * cut.head_items());
    Part part;
    part.k_head = outer % k_heads;
    part.sequence = outer / k_heads;
    part.first_head = part.k_head * cut.shared + group * cut.heads;
    part.heads = std::min(cut.heads, cut.shared - group * cut.heads);
    part.first_query = item % across * cut.queries;
    part.queries = std::min(cut.queries, call.result.sizes[2] - part.first_query);
    return part;
  }
  std::int64_t rows() const { return queries * heads; }
  std::int64_t head(std::int64_t row) const { return first_head + row % heads; }
  std::int64_t query(std::int64_t row) const { return first_query + row / heads; }
};

/// A worker's scratch.
struct Room {
  std::int64_t stride;        ///< of q and k, in floats
  std::int64_t value_stride;  ///< of v and sums
  float* q;                   ///< [kItemRows][stride]
  float* k;                   ///< [kBlock][stride]
  float* v;                   ///< [kBlock][value_stride]
  float* sums;                ///< [kItemRows][value_stride]: of weighted values
  float* scores;              ///< [kItemRows][kBlock]
  float* mask;                ///< [kItemRows][kBlock]
  float* largest;             ///< [kItemRows]
  float* total;               ///< [kItemRows]: sums of weights

  Room(float* start, std::int64_t d, std::int64_t dv)
      : stride(row_stride(d)),
        value_stride(row_stride(dv)),
        q(start),
        k(q + kItemRows * stride),
        v(k + kBlock * stride),
        sums(v + kBlock * value_stride),
        scores(sums + kItemRows * value_stride),
        mask(scores + kItemRows * kBlock),
        largest(mask + kItemRows * kBlock),
        total(largest + kItemRows) {}
  static std::size_t bytes(std::int64_t d, std::int64_t dv) {
    const std::int64_t floats = (kItemRows + kBlock) * (row_stride(d) + row_stride(dv)) +
                                2 * kItemRows * kBlock + 2 * kItemRows;
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
};

/// A row and zeros up to the padded size.
void read_padded(const TensorArg& from, std::byte* row, float* to) {
  const std::int64_t n = from.sizes[0];
  read_f32(from, row, 0, n, to);
  std::fill(to + n, to + padded(n), 0.0F);
}

/// A head's rows lie apart, between those of other heads, where the hardware doesn't foresee them.
void prefetch(const TensorArg& tensor, const std::byte* row) {
  if (!has_plain_rows(tensor)) return;
  constexpr std::int64_t kCacheLine = 64;
  const std::int64_t bytes = tensor.sizes[0] * tensor.strides[0];
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(row + at);
}

class Item {
 public:
  Item(const Call& call, const Part& part, const Room& room)
      : call_(call), part_(part), room_(room), scale_(call.params->get<AttentionParams>().scale) {}

  void run() {
    start();
    const std::int64_t keys = call_.sources[1].sizes[2];
    for (std::int64_t first = 0; first < keys; first += kBlock) {
      const std::int64_t count = std::min(kBlock, keys - first);
      if (!read_mask(first, count)) continue;
      add_block(first, count);
    }
    finish();
  }

 private:
  void start() {
    const TensorArg& q = call_.sources[0];
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      read_padded(q, q.row(part_.head(r), part_.query(r), part_.sequence),
                  room_.q + r * room_.stride);
    }
    std::fill_n(room_.largest, part_.rows(), kMinusInfinity);
    std::fill_n(room_.total, part_.rows(), 0.0F);
    std::fill_n(room_.sums, part_.rows() * room_.value_stride, 0.0F);
  }

  /// False if these keys are masked for all rows.
  bool read_mask(std::int64_t first, std::int64_t count) {
    const TensorArg& mask = call_.sources[3];
    if (mask.data == nullptr) return true;
    bool any = false;
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      float* to = room_.mask + r * kBlock;
      if (mask.sizes[2] == 1 && r % part_.heads != 0) {  // heads of a query have one mask
        std::copy_n(to - kBlock, count, to);
        continue;
      }
      read_f32(
          mask,
          mask.row(part_.query(r), part_.head(r) % mask.sizes[2], part_.sequence % mask.sizes[3]),
          first, count, to);
      any = any || simd::max(to, count) != kMinusInfinity;
    }
    return any;
  }

  void add_block(std::int64_t first, std::int64_t count) {
    const TensorArg& k = call_.sources[1];
    const TensorArg& v = call_.sources[2];
    for (std::int64_t n = 0; n < count; ++n) {
      const std::int64_t later = std::min(first + n + kPrefetch, k.sizes[2] - 1);
      prefetch(k, k.row(part_.k_head, later, part_.sequence));
      prefetch(v, v.row(part_.k_head, later, part_.sequence));
      read_padded(k, k.row(part_.k_head, first + n, part_.sequence), room_.k + n * room_.stride);
      read_padded(v, v.row(part_.k_head, first + n, part_.sequence),
                  room_.v + n * room_.value_stride);
    }
    const std::int64_t panel_rows = ceil_div(count, simd::kPanelRows) * simd::kPanelRows;
    std::fill(room_.k + count * room_.stride, room_.k + panel_rows * room_.stride, 0.0F);
    simd::multiply_panel(room_.k, room_.stride, count, room_.q, room_.stride, part_.rows(),
                         padded(k.sizes[0]), room_.scores, kBlock, false);
    for (std::int64_t r = 0; r < part_.rows(); ++r) weigh(r, count);
    simd::add_weighted_rows(room_.scores, kBlock, part_.rows(), room_.v, room_.value_stride, count,
                            padded(v.sizes[0]), room_.sums, room_.value_stride);
  }

  /// Turns a row's scores into weights; what was summed up so far is scaled to fit them.
  void weigh(std::int64_t r, std::int64_t count) {
    float* scores = room_.scores + r * kBlock;
    if (call_.sources[3].data == nullptr) {
      simd::scale(scores, scale_, 0.0F, scores, count);
    } else {
      simd::scale_add(scores, scale_, room_.mask + r * kBlock, scores, count);
    }
    const float here = simd::max(scores, count);
    if (here == kMinusInfinity) {
      std::fill_n(scores, count, 0.0F);
      return;
    }
    float& largest = room_.largest[r];
    if (here > largest || std::isnan(here)) {
      // 0 before the first score, when there is nothing to scale.
      const float factor = std::exp(largest - here);
      room_.total[r] *= factor;
      float* sums = room_.sums + r * room_.value_stride;
      simd::mul(sums, factor, sums, room_.value_stride);
      largest = here;
    }
    room_.total[r] += simd::exp_shifted(scores, largest, scores, count);
  }

  void finish() {
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      // 0 if all scores are minus infinity, or if there are none.
      const float factor = room_.total[r] == 0.0F ? 0.0F : 1.0F / room_.total[r];
      float* y = as_f32(call_.result.row(part_.head(r), part_.query(r), part_.sequence));
      simd::mul(room_.sums + r * room_.value_stride, factor, y, call_.result.sizes[0]);
    }
  }

  const Call& call_;
  const Part& part_;
  const Room& room_;
  float scale_;
};

class Attention final : public AnyCaseKernel {
 public:
  const Op& op() const override { return attention_op(); }
  std::int64_t items(const Call& call, int) const override {
    if (call.result.rows() == 0 || call.result.sizes[0] == 0) return 0;
    const Cut cut(call);
    return cut.query_items(call) * cut.head_items() * call.sources[1].sizes[1] *
           call.result.sizes[3];
  }
  std::size_t worker_scratch(const NodeView& node) const override {
    return Room::bytes(node.source(0).size(0), node.source(2).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const Cut cut(call);
    const Room room(as_f32(scratch), call.sources[0].sizes[0], call.sources[2].sizes[0]);
    for (std::int64_t item = begin; item < end; ++item) {
      const Part part = Part::of(call, cut, item);
      Item(call, part, room).run();
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList attention_kernels() {
  static const Attention kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
