#include <cmath>
#include <numbers>
#include <utility>

#include "backends/cpu/kernels/attention_mask.h"
#include "backends/cpu/kernels/attention_parts.h"
#include "shunt/ops/attention.h"
#include "tensor/checked.h"

// Softmax over blocks of keys as they come (arXiv 1805.02867). Each query keeps the largest score
// so far, the sum of exp(score - largest) and the sum of values with these weights. When a larger
// score turns up, the sums are scaled down. A block of k and v is decoded once, and then used by
// all queries and heads of a part. Keys are cut into stretches, each of which starts afresh. The
// results of stretches are added up in order. Where queries are few, stretches are items of phase
// 0, and phase 1 adds them up. Otherwise an item is a part, with all of its stretches.

namespace shunt::cpu {

namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kCacheLine = 64;
constexpr float kLog2E = std::numbers::log2e_v<float>;

/// A row and zeros up to the padded size.
void read_padded(const TensorArg& from, std::byte* row, float* to) {
  const std::int64_t n = from.sizes[0];
  read_f32(from, row, 0, n, to);
  std::fill(to + n, to + padded(n), 0.0F);
}

void prefetch(const std::byte* from, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(from + at);
  asm volatile("");  // g++ leaves out calls of functions that do nothing but this
}

/// Reads a byte of each line, so that the hardware sees the next accesses: it fetches more at a
/// time than software can ask for.
void touch(const std::byte* from, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += kCacheLine) {
    static_cast<void>(*static_cast<const volatile std::byte*>(from + at));
  }
}

/// The keys that are worked on next. Their memory is asked for while others are decoded.
/// Neighbouring heads take turns at a block, and each asks for its share. The data of these heads
/// for one key is adjacent.
struct Ahead {
  std::int64_t first = 0;  ///< key
  std::int64_t end = 0;
  std::int64_t turn = 0;
  std::int64_t turns = 1;
};

/// A part, as one worker computes it: some or all of its stretches. Its rows are those from
/// `first_row` on in the room. `live`, one for each row, says which of them the mask does not hide
/// a whole stretch from.
class PartOfAttention {
 public:
  PartOfAttention(const Call& call, const AttentionCut& cut, std::int64_t number,
                  const AttentionRoom& room, std::int64_t first_row, bool* live)
      : call_(call),
        cut_(cut),
        part_(AttentionPart::of(call, cut, number)),
        room_(room),
        params_(call.params->get<AttentionParams>()),
        q_(room.q + first_row * room.q_stride),
        slopes_(room.slopes + first_row),
        live_(live) {}

  void read_queries() const {
    const TensorArg& q = call_.sources[0];
    const float scale = params_.softcap == 0 ? params_.scale * kLog2E : params_.scale;
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      float* row = q_ + r * room_.q_stride;
      float* scaled = room_.pairs ? room_.decoded : row;
      read_padded(q, q.row(part_.head(r), part_.query(r), part_.sequence), scaled);
      simd::mul(room_.level, scaled, scale, scaled, padded(room_.d));
      if (room_.pairs) {
        simd::encode(room_.level, scaled, DType::kBF16, reinterpret_cast<std::byte*>(row), room_.d);
      }
      slopes_[r] = kLog2E * static_cast<float>(alibi_slope(params_.max_bias, call_.result.sizes[1],
                                                           part_.head(r)));
    }
  }

  /// Makes those rows of `gathered` ready that look_at_stretch() saw live. The others are not read.
  void start(float* gathered) const {
    for (std::int64_t r = 0; r < part_.rows(); ++r) {
      if (live_[r]) row_of(gathered, r).clear();
    }
  }

  /// Adds the contribution of keys from `first` on to `gathered`, [rows][stride].
  void add_block(std::int64_t first, std::int64_t count, bool masked, const Ahead& ahead,
                 float* gathered) const {
    if (masked) count = look_at_masks(first, count);
    bool decoded = false;
    // Queries of other sequences see nothing here.
    const auto hidden = [&](std::int64_t row) { return masked && room_.seen[row].hidden(); };
    for (std::int64_t begin = 0, end = 0; begin < part_.rows(); begin = end) {
      end = begin + 1;
      if (hidden(begin)) continue;
      while (end < part_.rows() && !hidden(end)) ++end;
      if (!decoded) decode(first, count, ahead);
      decoded = true;
      add_rows(begin, end, first, count, masked, gathered);
    }
  }

  /// The same for some rows, of which each sees something.
  void add_rows(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count,
                bool masked, float* gathered) const {
    // Tiles of about the same size.
    const std::int64_t tiles = ceil_div(end - begin, simd::kTileRows);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t row = begin + (end - begin) * t / tiles;
      simd::QueryRows rows = {.count = begin + (end - begin) * (t + 1) / tiles - row,
                              .q = q_ + row * room_.q_stride,
                              .q_stride = room_.q_stride,
                              .mask = {},
                              .slopes = {},
                              .softcap = params_.softcap,
                              .gathered = gathered + row * room_.stride,
                              .gathered_stride = room_.stride};
      const std::int64_t seen = masked ? read_masks(row, first, count, rows) : count;
      simd::attend(room_.level,
                   {.keys = room_.keys,
                    .d = padded(room_.d),
                    .values = room_.values,
                    .value_stride = room_.value_stride,
                    .dv = padded(room_.dv),
                    .pairs = room_.pairs},
                   rows, seen);
    }
  }

  /// The part's rows of the result.
  void compute() const {
    read_queries();
    for (std::int64_t r = 0; r < part_.rows(); ++r) row_of(room_.joined, r).clear();
    for (std::int64_t stretch = 0; stretch < cut_.stretches; ++stretch) {
      const std::int64_t first = stretch * cut_.stretch;
      const std::int64_t end = std::min(first + cut_.stretch, cut_.keys);
      const SeenKeys seen = look_at_stretch(first, end - first);
      if (seen.hidden()) continue;
      start(room_.gathered);
      const std::int64_t last = first + seen.count;
      for (std::int64_t n = first; n < last; n += simd::kKeyBlock) {
        add_block(n, std::min(simd::kKeyBlock, last - n), !seen.plain,
                  {n + simd::kKeyBlock, cut_.keys}, room_.gathered);
      }
      for (std::int64_t r = 0; r < part_.rows(); ++r) {
        if (live_[r]) row_of(room_.joined, r).add(row_of(room_.gathered, r));
      }
    }
    for (std::int64_t r = 0; r < part_.rows(); ++r)
      finish(call_, part_, r, row_of(room_.joined, r));
  }

  /// Row r of the result, from the sums over all keys.
  static void finish(const Call& call, const AttentionPart& part, std::int64_t r,
                     const Gathered& all) {
    const TensorArg& sinks = call.sources[4];
    const float sink =
        sinks.data == nullptr ? kMinusInfinity : kLog2E * number(sinks, part.head(r));
    all.mean(sink, as_f32(call.result.row(part.head(r), part.query(r), part.sequence)),
             call.result.sizes[0]);
  }

  /// The effect of masks on a stretch: hidden or plain if it is that for all rows. Also finds which
  /// of the rows are live.
  SeenKeys look_at_stretch(std::int64_t first, std::int64_t count) const {
    const TensorArg& mask = call_.sources[3];
    std::fill_n(live_, part_.rows(), true);
    if (mask.data == nullptr || count == 0) return {count, true};
    SeenKeys all = {0, true};
    for (std::int64_t r = 0; r < part_.rows(); r += rows_of_mask()) {
      std::byte* row = mask_row(r);
      const SeenKeys keys = look_at_mask(mask, row, first, count);
      std::fill_n(live_ + r, rows_of_mask(), !keys.hidden());
      // A row's next stretch is far from the next row's.
      const std::int64_t next = std::min(count, cut_.keys - first - count);
      if (has_plain_rows(mask)) {
        prefetch(element(mask, row, first + count), next * mask.strides[0]);
      }
      all.plain = all.plain && keys.plain && (keys.count == all.count || r == 0);
      all.count = std::max(all.count, keys.count);
    }
    return all;
  }

 private:
  Gathered row_of(float* gathered, std::int64_t r) const {
    return {room_.level, gathered + r * room_.stride, room_.dv};
  }

  /// Heads of a query may have one mask.
  std::int64_t rows_of_mask() const { return call_.sources[3].sizes[2] == 1 ? part_.heads : 1; }
  std::byte* mask_row(std::int64_t r) const {
    const TensorArg& mask = call_.sources[3];
    return mask.row(part_.query(r), part_.head(r) % mask.sizes[2], part_.sequence % mask.sizes[3]);
  }

  /// Returns how many of the keys any row sees.
  std::int64_t look_at_masks(std::int64_t first, std::int64_t count) const {
    const std::int64_t step = rows_of_mask();
    std::int64_t seen = 0;
    for (std::int64_t r = 0; r < part_.rows(); r += step) {
      SeenKeys keys = {0, false};
      if (live_[r]) keys = look_at_mask(call_.sources[3], mask_row(r), first, count);
      std::fill_n(room_.seen + r, step, keys);
      seen = std::max(seen, keys.count);
    }
    return seen;
  }

  /// The masks of rows from `row` on, each of which sees something; how many keys one of them sees.
  std::int64_t read_masks(std::int64_t row, std::int64_t first, std::int64_t count,
                          simd::QueryRows& rows) const {
    std::int64_t seen = 0;
    for (std::int64_t r = row; r < row + rows.count; ++r) {
      const auto i = static_cast<std::size_t>(r - row);
      const SeenKeys& keys = room_.seen[r];
      seen = std::max(seen, keys.count);
      if (keys.plain) continue;
      rows.slopes[i] = slopes_[r];
      if (r > row && r % rows_of_mask() != 0) {
        rows.mask[i] = rows.mask[i - 1];
        continue;
      }
      float* to = room_.mask + (r - row) * simd::kKeyBlock;
      read_f32(call_.sources[3], mask_row(r), first, count, to);
      rows.mask[i] = to;
    }
    return seen;
  }

  /// Asks for memory of k, or of v, while a group of keys from number n of a block on is decoded.
  void prefetch_group(const TensorArg& tensor, std::int64_t bytes, const Ahead& ahead,
                      std::int64_t n) const {
    const std::int64_t head = part_.k_head - ahead.turn;
    std::int64_t piece = ahead.turn * simd::kKeyBlock + n;
    for (std::int64_t i = 0; i < simd::kKeyGroup; ++i, ++piece) {
      const std::int64_t key = ahead.first + piece / ahead.turns;
      if (key >= ahead.end) return;
      prefetch(tensor.row(head + piece % ahead.turns, key, part_.sequence), bytes);
    }
  }

  void decode(std::int64_t first, std::int64_t count, const Ahead& ahead) const {
    const TensorArg& k = call_.sources[1];
    const TensorArg& v = call_.sources[2];
    // Rows of less than a line share theirs with other heads and keys: the hardware is fast enough.
    const bool asks =
        ahead.first < ahead.end && std::max(room_.key_bytes, room_.value_bytes) >= kCacheLine;
    const std::int64_t step = asks || !room_.packs_keys ? simd::kKeyGroup : simd::kKeyBlock;
    for (std::int64_t n = 0; n < count; n += step) {
      const std::int64_t group = std::min(step, count - n);
      if (asks) prefetch_group(k, room_.key_bytes, ahead, n);
      if (room_.pairs) {
        simd::pack_keys(room_.level, DType::kF32, k.row(part_.k_head, first + n, part_.sequence),
                        k.strides[2], n, group, room_.d / 2, room_.keys);
      } else if (room_.packs_keys) {
        simd::pack_keys(room_.level, k.dtype, k.row(part_.k_head, first + n, part_.sequence),
                        k.strides[2], n, group, room_.d, room_.keys);
      } else {
        const std::int64_t d = padded(room_.d);
        for (std::int64_t i = 0; i < group; ++i) {
          read_padded(k, k.row(part_.k_head, first + n + i, part_.sequence), room_.decoded + i * d);
        }
        simd::pack_keys(room_.level, DType::kF32, reinterpret_cast<const std::byte*>(room_.decoded),
                        d * static_cast<std::int64_t>(sizeof(float)), n, group, d, room_.keys);
      }
      if (asks) prefetch_group(v, room_.value_bytes, ahead, n);
      float* values = room_.values + (room_.pairs ? n / 2 : n) * room_.value_stride;
      if (room_.pairs) {
        simd::pair_values(room_.level, v.row(part_.k_head, first + n, part_.sequence), v.strides[2],
                          group, room_.dv, values, room_.value_stride);
      } else if (room_.packs_values) {
        simd::unpack_values(room_.level, v.dtype, v.row(part_.k_head, first + n, part_.sequence),
                            v.strides[2], group, room_.dv, values, room_.value_stride);
      } else {
        for (std::int64_t i = 0; i < group; ++i) {
          read_padded(v, v.row(part_.k_head, first + n + i, part_.sequence),
                      values + i * room_.value_stride);
        }
      }
    }
  }

  const Call& call_;
  const AttentionCut& cut_;
  const AttentionPart part_;
  const AttentionRoom& room_;
  const AttentionParams& params_;
  float* q_;
  float* slopes_;
  bool* live_;
};

/// The sums of the stretches of each part, if these are items of their own: in shared scratch.
class StretchSums {
 public:
  StretchSums(const Call& call, const AttentionCut& cut, const AttentionRoom& room)
      : cut_(cut),
        stride_(room.stride),
        floats_(as_f32(call.scratch)),
        live_(reinterpret_cast<bool*>(floats_ + cut.parts * cut.stretches * cut.rows * stride_)) {}
  static constexpr std::int64_t bytes(std::int64_t stride) {
    return stride * static_cast<std::int64_t>(sizeof(float)) + 1;
  }

  /// [rows][stride]
  float* gathered(std::int64_t part, std::int64_t stretch) const {
    return floats_ + first_row(part, stretch) * stride_;
  }
  /// [rows]; the other rows have no sums.
  bool* live(std::int64_t part, std::int64_t stretch) const {
    return live_ + first_row(part, stretch);
  }

 private:
  std::int64_t first_row(std::int64_t part, std::int64_t stretch) const {
    return (part * cut_.stretches + stretch) * cut_.rows;
  }

  const AttentionCut& cut_;
  std::int64_t stride_;
  float* floats_;
  bool* live_;
};

/// Gathers the sums of a stretch for the parts of a group. These take turns at each block, so that
/// memory is read in order.
void gather(const Call& call, const AttentionCut& cut, const AttentionRoom& room,
            std::int64_t group, std::int64_t stretch) {
  const std::int64_t begin = group * cut.together;
  const std::int64_t turns = std::min(cut.together, cut.parts - begin);
  const std::int64_t first = stretch * cut.stretch;
  const std::int64_t end = std::min(first + cut.stretch, cut.keys);
  const StretchSums sums(call, cut, room);
  const auto part_of = [&](std::int64_t turn) {
    return PartOfAttention(call, cut, begin + turn, room, turn * cut.rows,
                           sums.live(begin + turn, stretch));
  };
  const auto gathered = [&](std::int64_t turn) { return sums.gathered(begin + turn, stretch); };
  bool hidden = true;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    hidden = part_of(turn).look_at_stretch(first, end - first).hidden() && hidden;
    part_of(turn).start(gathered(turn));
  }
  if (hidden) return;
  for (std::int64_t turn = 0; turn < turns; ++turn) part_of(turn).read_queries();
  const AttentionPart part = AttentionPart::of(call, cut, begin);
  for (const auto& [source, bytes] : {std::pair(&call.sources[1], room.key_bytes),
                                      std::pair(&call.sources[2], room.value_bytes)}) {
    for (std::int64_t n = first; n < std::min(first + simd::kKeyBlock, end); ++n) {
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        touch(source->row(part.k_head + turn, n, part.sequence), bytes);
      }
    }
  }
  for (std::int64_t n = first; n < end; n += simd::kKeyBlock) {
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      part_of(turn).add_block(n, std::min(simd::kKeyBlock, end - n),
                              call.sources[3].data != nullptr,
                              {n + simd::kKeyBlock, end, turn, turns}, gathered(turn));
    }
  }
}

class Attention final : public AnyCaseKernel {
 public:
  const Op& op() const override { return attention_op(); }
  int phases() const override { return 2; }

  std::int64_t items(const Call& call, int phase) const override {
    if (call.result.rows() == 0 || call.result.sizes[0] == 0) return 0;
    const AttentionCut cut(call);
    if (phase == 0) return cut.split ? cut.groups * cut.stretches : cut.parts;
    return cut.split ? cut.parts * cut.rows : 0;
  }

  /// The sums of stretches, [parts][stretches][rows][stride], where a run may split them.
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const Tensor& k = node.source(1);
    const std::int64_t keys = k.size(2);
    if (keys <= kStretch || element_count(node.result().shape) == 0) return 0;
    const std::int64_t shared = node.result().size(1) / k.size(1);
    // Parts of about the same size have fewer than twice as many.
    const bool one_part = most_rows(node.source(0).size(0), node.result().size(0)) >= kSplitRows &&
                          shared <= kSplitRows;
    const std::int64_t rows = saturating_multiply(
        one_part ? 1 : 2,
        std::max(shared, std::min(kSplitRows, saturating_multiply(shared, node.result().size(2)))));
    std::int64_t bytes = StretchSums::bytes(gathered_stride(node.result().size(0)));
    for (const std::int64_t factor :
         {rows, std::min(kMostStretches, ceil_div(keys, kStretch)), k.size(1), k.size(3)}) {
      bytes = saturating_multiply(bytes, factor);
    }
    return static_cast<std::size_t>(bytes);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    if (element_count(node.result().shape) == 0) return 0;
    const std::int64_t d = node.source(0).size(0);
    const std::int64_t dv = node.result().size(0);
    const std::int64_t rows = saturating_multiply(
        node.result().size(1), saturating_multiply(node.result().size(2), node.result().size(3)));
    return AttentionRoom::bytes(d, dv, std::min(most_rows(d, dv), rows));
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const AttentionCut cut(call);
    const AttentionRoom room(as_f32(scratch), call, cut.rows * cut.together);
    for (std::int64_t item = begin; item < end; ++item) {
      if (phase == 1) {
        join(call, cut, room, item);
      } else if (cut.split) {
        gather(call, cut, room, item % cut.groups, item / cut.groups);
      } else {
        PartOfAttention(call, cut, item, room, 0, room.live).compute();
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
    const Gathered all(room.level, room.joined, room.dv);
    all.clear();
    const StretchSums sums(call, cut, room);
    for (std::int64_t stretch = 0; stretch < cut.stretches; ++stretch) {
      if (!sums.live(number, stretch)[r]) continue;
      all.add(Gathered(room.level, sums.gathered(number, stretch) + r * room.stride, room.dv));
    }
    PartOfAttention::finish(call, part, r, all);
  }
};

}  // namespace

KernelList attention_kernels() {
  return list_kernels<CpuKernel, Attention>();
}

}  // namespace shunt::cpu
