#include <utility>

#include "backends/cpu/kernels/attention_rows.h"
#include "tensor/checked.h"

// Softmax over blocks of keys as they come (arXiv 1805.02867). Each query keeps the largest score
// so far, the sum of exp(score - largest) and the sum of values with these weights. When a larger
// score turns up, the sums are scaled down. A block of k and v is decoded once, and then used by
// all queries and heads of a part. Keys are cut into stretches, each of which starts afresh. The
// results of stretches are added up in order. Where queries are few, stretches are items of phase
// 0, and phase 1 adds them up. Otherwise an item is a part, with all of its stretches.

namespace shunt::cpu {

namespace {

/// A mask as a source, [N, T, 1 or H, 1 or S]; it may have no data.
class TensorMask {
 public:
  TensorMask(const TensorArg& mask, std::int64_t keys) : mask_(mask), keys_(keys) {}

  /// Heads of a query may have one mask.
  std::int64_t rows_alike(const AttentionPart& part) const {
    return mask_.sizes[2] == 1 ? part.heads : 1;
  }

  SeenKeys look_at_stretch(const AttentionPart& part, std::int64_t first, std::int64_t count,
                           bool* live) const {
    std::fill_n(live, part.rows(), true);
    if (mask_.data == nullptr || count == 0) return {count, true};
    SeenKeys all = {0, true};
    const std::int64_t step = rows_alike(part);
    for (std::int64_t r = 0; r < part.rows(); r += step) {
      std::byte* row = row_of(part, r);
      const SeenKeys keys = look_at_mask(mask_, row, first, count);
      std::fill_n(live + r, step, !keys.hidden());
      // A row's next stretch is far from the next row's.
      const std::int64_t next = std::min(count, keys_ - first - count);
      if (has_plain_rows(mask_)) {
        prefetch(element(mask_, row, first + count), next * mask_.strides[0]);
      }
      all.plain = all.plain && keys.plain && (keys.count == all.count || r == 0);
      all.count = std::max(all.count, keys.count);
    }
    return all;
  }

  SeenKeys look_at_block(const AttentionPart& part, std::int64_t row, std::int64_t first,
                         std::int64_t count) const {
    return look_at_mask(mask_, row_of(part, row), first, count);
  }

  void read(const AttentionPart& part, std::int64_t row, std::int64_t first, std::int64_t count,
            float* to) const {
    read_f32(mask_, row_of(part, row), first, count, to);
  }

 private:
  std::byte* row_of(const AttentionPart& part, std::int64_t r) const {
    return mask_.row(part.query(r), part.head(r) % mask_.sizes[2], part.sequence % mask_.sizes[3]);
  }

  const TensorArg& mask_;
  std::int64_t keys_;
};

/// The parts of one item: neighbours, whose heads of k take turns.
class Parts {
 public:
  /// Parts from number `begin` on. `live` has cut.rows for each.
  Parts(const Call& call, const AttentionCut& cut, const AttentionRoom& room, std::int64_t begin)
      : call_(call),
        cut_(cut),
        room_(room),
        begin_(begin),
        mask_(call.sources[3], cut.keys),
        keys_{.sequence = AttentionPart::of(call, cut, begin).sequence} {
    const auto& params = call.params->get<AttentionParams>();
    params_ = {params.scale, params.max_bias, params.softcap};
  }

  std::int64_t turns() const { return std::min(cut_.together, cut_.parts - begin_); }

  /// Gathers the sums of a stretch. `live` and `gathered` are of a turn.
  template <class LiveOf, class GatheredOf>
  bool gather(std::int64_t stretch, bool& ready, const LiveOf& live,
              const GatheredOf& gathered) const {
    const std::int64_t first = stretch * cut_.stretch;
    const std::int64_t end = std::min(first + cut_.stretch, cut_.keys);
    const AttentionPart leader = AttentionPart::of(call_, cut_, begin_);
    const Turns with = {leader.k_head, turns(), cut_.split, cut_.split ? end : cut_.keys};
    return gather_stretch(
        call_, room_, keys_, with, first, end, ready,
        [&](std::int64_t turn) {
          return AttentionRows(call_, params_, AttentionPart::of(call_, cut_, begin_ + turn), keys_,
                               mask_, room_, turn * cut_.rows, live(turn));
        },
        gathered);
  }

 private:
  const Call& call_;
  const AttentionCut& cut_;
  const AttentionRoom& room_;
  std::int64_t begin_;
  TensorMask mask_;
  KeyRows keys_;
  ScoreParams params_;
};

/// A part's rows of the result.
void compute_part(const Call& call, const AttentionCut& cut, const AttentionRoom& room,
                  std::int64_t number) {
  const AttentionPart part = AttentionPart::of(call, cut, number);
  const auto row = [&](float* sums, std::int64_t r) {
    return Gathered(room.level, sums + r * room.stride, room.dv);
  };
  for (std::int64_t r = 0; r < part.rows(); ++r) row(room.joined, r).clear();
  const Parts only(call, cut, room, number);
  bool ready = false;
  for (std::int64_t stretch = 0; stretch < cut.stretches; ++stretch) {
    if (!only.gather(
            stretch, ready, [&](std::int64_t) { return room.live; },
            [&](std::int64_t) { return room.gathered; }))
      continue;
    for (std::int64_t r = 0; r < part.rows(); ++r) {
      if (room.live[r]) row(room.joined, r).add(row(room.gathered, r));
    }
  }
  for (std::int64_t r = 0; r < part.rows(); ++r)
    finish_row(call, call.sources[4], part, r, row(room.joined, r));
}

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

/// Gathers the sums of a stretch for the parts of a group.
void gather(const Call& call, const AttentionCut& cut, const AttentionRoom& room,
            std::int64_t group, std::int64_t stretch) {
  const std::int64_t begin = group * cut.together;
  const StretchSums sums(call, cut, room);
  bool ready = false;
  Parts(call, cut, room, begin)
      .gather(
          stretch, ready, [&](std::int64_t turn) { return sums.live(begin + turn, stretch); },
          [&](std::int64_t turn) { return sums.gathered(begin + turn, stretch); });
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
        compute_part(call, cut, room, item);
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
    finish_row(call, call.sources[4], part, r, all);
  }
};

}  // namespace

KernelList attention_kernels() {
  return list_kernels<CpuKernel, Attention>();
}

}  // namespace shunt::cpu
