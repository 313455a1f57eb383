#include <cmath>
#include <numbers>

#include "backends/cpu/kernels/attention_mask.h"
#include "backends/cpu/kernels/attention_parts.h"
#include "shunt/ops/attention.h"
#include "tensor/checked.h"

// Softmax over blocks of keys as they come (arXiv 1805.02867): for each query the largest score so
// far, the sum of exp(score - largest) and the sum of values weighted so are kept, and scaled down
// when a larger score turns up. A block of k and v is decoded once, and then used by all queries
// and heads of a part. Keys are cut into stretches, each of which starts afresh; what they give is
// added up in order. Where queries are few, stretches are items of phase 0, and phase 1 adds them
// up; else an item is a part, with all of its stretches.

namespace shunt::cpu {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr float kLog2E = std::numbers::log2e_v<float>;

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
    const float scale = params_.softcap == 0 ? params_.scale * kLog2E : params_.scale;
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      float* row = room_.q + r * room_.q_stride;
      read_padded(q, q.row(part_.head(r), part_.query(r), part_.sequence), row);
      simd::mul(row, scale, row, padded(room_.d));
      room_.slopes[r] = kLog2E * static_cast<float>(alibi_slope(
                                     params_.max_bias, call_.result.sizes[1], part_.head(r)));
    }
  }

  /// What a stretch gives, to `gathered`, [rows][stride].
  void gather(std::int64_t stretch, float* gathered) {
    for (std::int64_t r = 0; r < part_.rows(); ++r) row_of(gathered, r).clear();
    const std::int64_t end = std::min((stretch + 1) * cut_.stretch, cut_.keys);
    for (std::int64_t first = stretch * cut_.stretch; first < end; first += simd::kKeyBlock) {
      add_block(first, std::min(simd::kKeyBlock, end - first), gathered);
    }
  }

  /// The part's rows of the result.
  void compute() {
    for (std::int64_t r = 0; r < part_.rows(); ++r) row_of(room_.joined, r).clear();
    for (std::int64_t stretch = 0; stretch < cut_.stretches; ++stretch) {
      gather(stretch, room_.gathered);
      for (std::int64_t r = 0; r < part_.rows(); ++r) {
        row_of(room_.joined, r).add(row_of(room_.gathered, r));
      }
    }
    for (std::int64_t r = 0; r < part_.rows(); ++r)
      finish(call_, part_, r, row_of(room_.joined, r));
  }

  /// Row r of the result, from what all keys gave.
  static void finish(const Call& call, const AttentionPart& part, std::int64_t r,
                     const Gathered& all) {
    const TensorArg& sinks = call.sources[4];
    const float sink =
        sinks.data == nullptr ? kMinusInfinity : kLog2E * number(sinks, part.head(r));
    all.mean(sink, as_f32(call.result.row(part.head(r), part.query(r), part.sequence)),
             call.result.sizes[0]);
  }

 private:
  Gathered row_of(float* gathered, std::int64_t r) const {
    return {gathered + r * room_.stride, room_.dv};
  }

  /// Tiles of rows, of about the same size. The block is decoded if one of them sees any of it.
  void add_block(std::int64_t first, std::int64_t count, float* gathered) {
    bool decoded = false;
    const std::int64_t tiles = ceil_div(part_.rows(), simd::kTileRows);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = part_.rows() * t / tiles;
      simd::QueryRows rows = {.count = part_.rows() * (t + 1) / tiles - row,
                              .q = room_.q + row * room_.q_stride,
                              .q_stride = room_.q_stride,
                              .mask = {},
                              .slopes = {},
                              .softcap = params_.softcap,
                              .gathered = gathered + row * room_.stride,
                              .gathered_stride = room_.stride};
      const std::int64_t seen = read_masks(row, first, count, rows);
      if (seen == 0) continue;
      if (!decoded) decode(first, count);
      decoded = true;
      simd::attend({.keys = room_.keys,
                    .d = padded(room_.d),
                    .values = room_.values,
                    .value_stride = room_.value_stride,
                    .dv = padded(room_.dv)},
                   rows, seen);
    }
  }

  /// The masks of rows from `row` on; how many keys one of them sees.
  std::int64_t read_masks(std::int64_t row, std::int64_t first, std::int64_t count,
                          simd::QueryRows& rows) const {
    const TensorArg& mask = call_.sources[3];
    if (mask.data == nullptr) return count;
    std::int64_t seen = 0;
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t r = row + i;
      rows.slopes[at] = room_.slopes[r];
      if (i > 0 && mask.sizes[2] == 1 && r % part_.heads != 0) {  // heads of a query have one mask
        rows.mask[at] = rows.mask[at - 1];
        continue;
      }
      float* to = room_.mask + i * simd::kKeyBlock;
      const SeenKeys keys = read_mask(
          mask,
          mask.row(part_.query(r), part_.head(r) % mask.sizes[2], part_.sequence % mask.sizes[3]),
          first, count, to);
      if (keys.plain && keys.count == 0) std::fill_n(to, count, kMinusInfinity);
      rows.mask[at] = keys.plain && keys.count > 0 ? nullptr : to;
      seen = std::max(seen, keys.count);
    }
    return seen;
  }

  void decode(std::int64_t first, std::int64_t count) const {
    const TensorArg& k = call_.sources[1];
    const TensorArg& v = call_.sources[2];
    const bool as_it_is =
        has_plain_rows(k) && simd::packs(k.dtype) && room_.d % simd::kKeyGroup == 0;
    for (std::int64_t n = 0; n < count; n += simd::kKeyGroup) {
      const std::int64_t group = std::min(simd::kKeyGroup, count - n);
      for (std::int64_t i = n; i < n + group; ++i) {
        const std::int64_t later = std::min(first + i + simd::kKeyGroup, cut_.keys - 1);
        prefetch(k, k.row(part_.k_head, later, part_.sequence));
        prefetch(v, v.row(part_.k_head, later, part_.sequence));
        read_padded(v, v.row(part_.k_head, first + i, part_.sequence),
                    room_.values + i * room_.value_stride);
      }
      if (as_it_is) {
        simd::pack_keys(k.dtype, k.row(part_.k_head, first + n, part_.sequence), k.strides[2], n,
                        group, room_.d, room_.keys);
        continue;
      }
      const std::int64_t d = padded(room_.d);
      for (std::int64_t i = 0; i < group; ++i) {
        read_padded(k, k.row(part_.k_head, first + n + i, part_.sequence), room_.decoded + i * d);
      }
      simd::pack_keys(DType::kF32, reinterpret_cast<const std::byte*>(room_.decoded),
                      d * static_cast<std::int64_t>(sizeof(float)), n, group, d, room_.keys);
    }
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
    if (phase == 0) return cut.split ? cut.parts * cut.stretches : cut.parts;
    return cut.split ? cut.parts * cut.rows : 0;
  }

  /// What stretches give, [parts][stretches][rows][stride], where a run may split them.
  std::size_t scratch(const NodeView& node) const override {
    const Tensor& k = node.source(1);
    const std::int64_t keys = k.size(2);
    if (keys <= kStretch || element_count(node.result().shape) == 0) return 0;
    const std::int64_t shared = node.result().size(1) / k.size(1);
    // Heads in parts of about the same size are fewer than twice as many.
    const std::int64_t rows =
        shared > kFewRows ? saturating_multiply(shared, 2)
                          : std::min(kFewRows, saturating_multiply(shared, node.result().size(2)));
    std::int64_t floats = gathered_stride(node.result().size(0));
    for (const std::int64_t factor :
         {rows, std::min(kMostStretches, ceil_div(keys, kStretch)), k.size(1), k.size(3)}) {
      floats = saturating_multiply(floats, factor);
    }
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
  std::size_t worker_scratch(const NodeView& node) const override {
    if (element_count(node.result().shape) == 0) return 0;
    const std::int64_t d = node.source(0).size(0);
    const std::int64_t dv = node.result().size(0);
    const std::int64_t shared = node.result().size(1) / node.source(1).size(1);
    return AttentionRoom::bytes(
        d, dv, std::min(most_rows(d, dv), saturating_multiply(shared, node.result().size(2))));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const AttentionCut cut(call);
    const AttentionRoom room(as_f32(scratch), call.sources[0].sizes[0], call.result.sizes[0],
                             cut.rows);
    for (std::int64_t item = begin; item < end; ++item) {
      if (phase == 1) {
        join(call, cut, room, item);
      } else if (cut.split) {
        const AttentionPart part = AttentionPart::of(call, cut, item / cut.stretches);
        PartOfAttention(call, cut, part, room)
            .gather(item % cut.stretches, as_f32(call.scratch) + item * cut.rows * room.stride);
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
    all.clear();
    for (std::int64_t stretch = 0; stretch < cut.stretches; ++stretch) {
      const std::int64_t before = (number * cut.stretches + stretch) * cut.rows + r;
      all.add(Gathered(as_f32(call.scratch) + before * room.stride, room.dv));
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
