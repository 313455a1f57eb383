#include <cmath>

#include "backends/cpu/kernels/attention_parts.h"
#include "shunt/ops/attention.h"
#include "tensor/checked.h"

// Softmax over blocks of keys as they come (arXiv 1805.02867): for each query the largest score so
// far, the sum of exp(score - largest) and the sum of values weighted so are kept, and scaled down
// when a larger score turns up. k and v are decoded to F32 a block at a time, which is then used by
// all queries and heads of a part.
// Keys are cut into stretches, each of which starts afresh; what they give is added up in order.
// Where queries are few, stretches are items of phase 0, and phase 1 adds them up; else an item is
// a part, with all of its stretches.

namespace shunt::cpu {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
/// How many keys ahead of the one that is decoded memory is asked for.
constexpr std::int64_t kPrefetch = 16;

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
  const std::int64_t blocks = tensor.sizes[0] / trait(tensor.dtype).block_elements;
  const std::int64_t bytes = blocks * tensor.strides[0];
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(row + at);
}

/// A part, as one worker computes it: some or all of its stretches.
class PartOfAttention {
 public:
  PartOfAttention(const Call& call, const AttentionCut& cut, const AttentionPart& part,
                  const AttentionRoom& room)
      : call_(call),
        cut_(cut),
        part_(part),
        room_(room),
        params_(call.params->get<AttentionParams>()) {
    const TensorArg& q = call_.sources[0];
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      read_padded(q, q.row(part_.head(r), part_.query(r), part_.sequence),
                  room_.q + r * room_.stride);
      room_.slopes[r] =
          static_cast<float>(alibi_slope(params_.max_bias, call_.result.sizes[1], part_.head(r)));
    }
  }

  /// What a stretch gives, to `gathered`, [rows][value_stride].
  void gather(std::int64_t stretch, float* gathered) {
    for (std::int64_t r = 0; r < part_.rows(); ++r) row_of(gathered, r).clear(room_.dv);
    const std::int64_t end = std::min((stretch + 1) * cut_.stretch, cut_.keys);
    for (std::int64_t first = stretch * cut_.stretch; first < end; first += kKeyBlock) {
      const std::int64_t count = std::min(kKeyBlock, end - first);
      if (!read_mask(first, count)) continue;
      add_block(first, count, gathered);
    }
  }

  /// The part's rows of the result.
  void compute() {
    for (std::int64_t r = 0; r < part_.rows(); ++r) row_of(room_.joined, r).clear(room_.dv);
    for (std::int64_t stretch = 0; stretch < cut_.stretches; ++stretch) {
      gather(stretch, room_.gathered);
      for (std::int64_t r = 0; r < part_.rows(); ++r) {
        row_of(room_.joined, r).add(row_of(room_.gathered, r), room_.dv);
      }
    }
    for (std::int64_t r = 0; r < part_.rows(); ++r)
      finish(call_, part_, r, row_of(room_.joined, r));
  }

  /// Row r of the result, from what all keys gave.
  static void finish(const Call& call, const AttentionPart& part, std::int64_t r,
                     const Gathered& all) {
    const TensorArg& sinks = call.sources[4];
    const float sink = sinks.data == nullptr ? kMinusInfinity : number(sinks, part.head(r));
    all.mean(sink, as_f32(call.result.row(part.head(r), part.query(r), part.sequence)),
             call.result.sizes[0]);
  }

 private:
  Gathered row_of(float* gathered, std::int64_t r) const {
    return {gathered + r * room_.value_stride, room_.dv};
  }

  /// False if these keys are masked for all rows.
  bool read_mask(std::int64_t first, std::int64_t count) {
    const TensorArg& mask = call_.sources[3];
    if (mask.data == nullptr) return true;
    bool any = false;
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      float* to = room_.mask + r * kKeyBlock;
      if (mask.sizes[2] == 1 && r % part_.heads != 0) {  // heads of a query have one mask
        std::copy_n(to - kKeyBlock, count, to);
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

  void add_block(std::int64_t first, std::int64_t count, float* gathered) {
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
                         padded(k.sizes[0]), room_.scores, kKeyBlock, false);
    for (std::int64_t r = 0; r < part_.rows(); ++r) weigh(r, count, row_of(gathered, r));
    simd::add_weighted_rows(room_.scores, kKeyBlock, part_.rows(), room_.v, room_.value_stride,
                            count, padded(room_.dv), gathered, room_.value_stride);
  }

  /// A row's products of q and k to scores.
  void score(std::int64_t r, std::int64_t count) {
    float* scores = room_.scores + r * kKeyBlock;
    simd::scale(scores, params_.scale, 0.0F, scores, count);
    if (const float cap = params_.softcap; cap != 0) {
      for (std::int64_t n = 0; n < count; ++n) scores[n] = cap * std::tanh(scores[n] / cap);
    }
    if (call_.sources[3].data == nullptr) return;
    simd::scale_add(room_.mask + r * kKeyBlock, room_.slopes[r], scores, scores, count);
  }

  /// Turns a row's products into weights; what was gathered so far is scaled to fit them.
  void weigh(std::int64_t r, std::int64_t count, const Gathered& row) {
    score(r, count);
    float* scores = room_.scores + r * kKeyBlock;
    const float here = simd::max(scores, count);
    if (here == kMinusInfinity) {
      std::fill_n(scores, count, 0.0F);
      return;
    }
    if (here > *row.largest || std::isnan(here)) {
      // 0 before the first score, when there is nothing to scale.
      const float factor = std::exp(*row.largest - here);
      *row.weights *= factor;
      simd::mul(row.values, factor, row.values, room_.dv);
      *row.largest = here;
    }
    *row.weights += simd::exp_shifted(scores, *row.largest, scores, count);
  }

  const Call& call_;
  const AttentionCut& cut_;
  const AttentionPart& part_;
  const AttentionRoom& room_;
  const AttentionParams& params_;
};

class Attention final : public AnyCaseKernel {
 public:
  const Op& op() const override { return attention_op(); }
  int phases() const override { return 2; }

  std::int64_t items(const Call& call, int phase) const override {
    if (call.result.rows() == 0 || call.result.sizes[0] == 0) return 0;
    const AttentionCut cut(call);
    if (phase == 0) return cut.split() ? cut.parts * cut.stretches : cut.parts;
    return cut.split() ? cut.parts * cut.rows : 0;
  }

  /// What stretches give, [parts][stretches][rows][value_stride], where a run may split them.
  std::size_t scratch(const NodeView& node) const override {
    const Tensor& k = node.source(1);
    const std::int64_t keys = k.size(2);
    if (keys <= kStretch || element_count(node.result().shape) == 0) return 0;
    const std::int64_t shared = node.result().size(1) / k.size(1);
    std::int64_t floats = row_stride(node.result().size(0));
    for (const std::int64_t factor :
         {std::min(kPartRows, saturating_multiply(shared, node.result().size(2))),
          std::min(kMostStretches, ceil_div(keys, kStretch)), ceil_div(shared, kPartRows),
          k.size(1), k.size(3)}) {
      floats = saturating_multiply(floats, factor);
    }
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
  std::size_t worker_scratch(const NodeView& node) const override {
    return AttentionRoom::bytes(node.source(0).size(0), node.source(2).size(0));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const AttentionCut cut(call);
    const AttentionRoom room(as_f32(scratch), call.sources[0].sizes[0], call.result.sizes[0]);
    for (std::int64_t item = begin; item < end; ++item) {
      if (phase == 1) {
        join(call, cut, room, item);
      } else if (cut.split()) {
        const AttentionPart part = AttentionPart::of(call, cut, item / cut.stretches);
        PartOfAttention(call, cut, part, room)
            .gather(item % cut.stretches,
                    as_f32(call.scratch) + item * cut.rows * room.value_stride);
      } else {
        const AttentionPart part = AttentionPart::of(call, cut, item);
        PartOfAttention(call, cut, part, room).compute();
      }
    }
    return Fault::kNone;
  }

 private:
  /// An item of phase 1 is a row of a part.
  static void join(const Call& call, const AttentionCut& cut, const AttentionRoom& room,
                   std::int64_t item) {
    const std::int64_t number = item / cut.rows;
    const std::int64_t r = item % cut.rows;
    const AttentionPart part = AttentionPart::of(call, cut, number);
    if (r >= part.rows()) return;  // the last heads may be fewer than others
    const Gathered all(room.joined, room.dv);
    all.clear(room.dv);
    for (std::int64_t stretch = 0; stretch < cut.stretches; ++stretch) {
      const std::int64_t before = (number * cut.stretches + stretch) * cut.rows + r;
      all.add(Gathered(as_f32(call.scratch) + before * room.value_stride, room.dv), room.dv);
    }
    PartOfAttention::finish(call, part, r, all);
  }
};

}  // namespace

KernelList attention_kernels() {
  static const Attention kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
