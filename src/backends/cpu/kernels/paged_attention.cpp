#include <bit>
#include <cstdlib>
#include <new>

#include "backends/cpu/kernels/attention_rows.h"
#include "backends/cpu/kernels/paged_plan.h"

// Attention over a KV cache in blocks. The arithmetic is that of attention.cpp: the sums of each
// stretch of keys start afresh, and are added up in order. A query's stretches begin at fixed
// positions of its sequence, and only its own position decides how long they are.
//
// A unit is some tokens of one sequence, and neighbouring heads of k. It is one item, or several
// with some stretches each where there would be too few items for all threads.

namespace shunt::cpu {

namespace {

PagedSizes sizes_of(const Call& call, const PagedAttentionParams& params) {
  const TensorArg& k = call.sources[1];
  return {.d = call.sources[0].sizes[0],
          .dv = call.result.sizes[0],
          .heads = call.result.sizes[1],
          .k_heads = k.sizes[1],
          .tokens = call.result.sizes[2],
          .sequences = call.sources[3].sizes[1],
          .most_keys = saturating_multiply(call.sources[4].sizes[0], params.block)};
}

PagedSizes sizes_of(const NodeView& node) {
  const auto& params = node.params<PagedAttentionParams>();
  return {.d = node.source(0).size(0),
          .dv = node.result().size(0),
          .heads = node.result().size(1),
          .k_heads = node.source(1).size(1),
          .tokens = node.result().size(2),
          .sequences = node.source(3).size(1),
          .most_keys = saturating_multiply(node.source(4).size(0), params.block)};
}

/// Neighbouring heads of k that a unit takes together, if it has `rows` for each. A block of these
/// heads, and the next, fit the L2 cache. The number divides that of all heads.
std::int64_t heads_together(const Call& call, const PagedSizes& sizes, std::int64_t rows) {
  constexpr std::int64_t kBlockBytes = 128 * 1024;
  if (sizes.groups() > 1 || rows > kSplitRows) return 1;
  const std::int64_t bytes = row_bytes(call.sources[1]) + row_bytes(call.sources[2]);
  const std::int64_t fit =
      std::min({sizes.k_heads, sizes.limit() / rows,
                kBlockBytes / (simd::kKeyBlock * std::max<std::int64_t>(1, bytes))});
  std::int64_t together = std::max<std::int64_t>(1, fit);
  while (sizes.k_heads % together != 0) --together;
  return together;
}

/// Whether the sequence's blocks are there, and its keys are in columns of the mask.
bool is_valid(const Call& call, const PagedSequence& sequence, std::int64_t block) {
  const TensorArg& table = call.sources[4];
  const TensorArg& mask = call.sources[5];
  if (sequence.tokens > sequence.keys || sequence.first_entry < 0) return false;
  const std::int64_t entries = ceil_div(sequence.keys, block);
  if (sequence.first_entry > table.sizes[0] - entries) return false;
  if (mask.data != nullptr && sequence.keys > mask.sizes[0]) return false;
  const std::int64_t rows = call.sources[1].sizes[2];
  for (std::int64_t i = 0; i < entries; ++i) {
    const std::int64_t number = integer_at(table, sequence.first_entry + i);
    const std::int64_t used = std::min(block, sequence.keys - i * block);
    if (number < 0 || number > rows || number * block > rows - used) return false;
  }
  return true;
}

}  // namespace

/// Units of one sequence, for all heads of k.
void PagedPlan::add_units(const PagedSequence& sequence, const PagedAttentionParams& params,
                          std::int64_t together) {
  const auto seen_by = [&](std::int64_t token) {
    return seen_span(params.span, params.window, sequence.position(token), sequence.keys);
  };
  const std::int64_t end = sequence.first_token + sequence.tokens;
  const std::int64_t most = sizes_.unit_tokens();
  for (std::int64_t first = sequence.first_token, last = first; first < end; first = last) {
    const std::int64_t stretch = stretch_for(seen_by(first).end);
    last = first + 1;
    while (last < end && last < first + most && stretch_for(seen_by(last).end) == stretch) ++last;
    for (std::int64_t head = 0; head < sizes_.k_heads; head += together) {
      for (std::int64_t group = 0; group < sizes_.groups(); ++group) {
        PagedUnit* unit = new (units_ + header_->units++) PagedUnit;
        unit->sequence = sequence;
        unit->first_token = first;
        unit->tokens = last - first;
        unit->k_head = head;
        unit->turns = together;
        unit->group = group;
        unit->keys = {seen_by(first).first, seen_by(last - 1).end};
        unit->stretch = stretch;
      }
    }
  }
}

/// Splits the larger units, as far as there is memory for their sums, and lists all items.
void PagedPlan::add_items(int threads) {
  constexpr std::int64_t kItemsPerThread = 8;
  constexpr std::int64_t kDecoding = 4;  // rows that decoding a key takes as long as
  const auto rows_of = [&](const PagedUnit& unit) {
    return unit.turns * unit.tokens * sizes_.group_heads();
  };
  const auto work_of = [&](const PagedUnit& unit) {
    return (unit.keys.end - unit.keys.first) * (rows_of(unit) + unit.turns * kDecoding);
  };
  std::int64_t work = 0;
  for (std::int64_t i = 0; i < header_->units; ++i) work += work_of(units_[i]);
  const std::int64_t each = std::max<std::int64_t>(1, work / (threads * kItemsPerThread));
  std::int64_t room = sizes_.most_sums();
  std::int64_t splits = PagedSizes::kMostSplits;
  for (std::int64_t i = 0; i < header_->units; ++i) {
    PagedUnit& unit = units_[i];
    const std::int64_t wanted = threads == 1 ? 1 : ceil_div(work_of(unit), each);
    const std::int64_t items = std::min({wanted, unit.stretches(), splits});
    const std::int64_t rows = unit.stretches() * rows_of(unit);
    if (items > 1 && rows <= room) {
      unit.items = items;
      unit.first_row = sizes_.most_sums() - room;
      room -= rows;
      splits -= items;
    }
    unit.left.store(unit.items, std::memory_order_relaxed);
    for (std::int64_t number = 0; number < unit.items; ++number)
      new (items_ + header_->items++) PagedItem{i, number};
  }
}

bool PagedPlan::make(const Call& call, const PagedAttentionParams& params) {
  new (header_) Header;
  const TensorArg& sequences = call.sources[3];
  std::int64_t first = 0;
  for (std::int64_t s = 0; s < sizes_.sequences; ++s) {
    const std::int64_t end = integer_at(sequences, 0, s);
    const PagedSequence sequence = {first, end - first, integer_at(sequences, 1, s),
                                    integer_at(sequences, 2, s)};
    if (end < first || end > sizes_.tokens || !is_valid(call, sequence, params.block)) return false;
    const std::int64_t rows =
        std::min(sequence.tokens, sizes_.unit_tokens()) * sizes_.group_heads();
    if (sequence.tokens > 0) add_units(sequence, params, heads_together(call, sizes_, rows));
    first = end;
  }
  header_->end = first;
  add_items(call.threads);
  return true;
}

namespace {

/// The keys that the tokens of a unit see, and a mask as a source, [N, T, 1 or H], if it has data.
class SpanMask {
 public:
  SpanMask(const Call& call, const PagedAttentionParams& params, const PagedUnit& unit)
      : mask_(call.sources[5]), params_(params), unit_(unit) {}

  std::int64_t rows_alike(const AttentionPart& part) const {
    return mask_.data == nullptr || mask_.sizes[2] == 1 ? part.heads : 1;
  }

  SeenKeys look_at_stretch(const AttentionPart& part, std::int64_t first, std::int64_t count,
                           bool* live) const {
    SeenKeys all = {0, !adds()};
    for (std::int64_t r = 0; r < part.rows(); r += part.heads) {
      const SeenSpan seen = of(part, r);
      const std::int64_t end = std::min(seen.end - first, count);
      const bool hidden = end <= 0 || seen.first >= first + count;
      std::fill_n(live + r, part.heads, !hidden);
      all.plain = all.plain && !hidden && end == count && seen.first <= first;
      if (!hidden) all.count = std::max(all.count, end);
    }
    return all;
  }

  SeenKeys look_at_block(const AttentionPart& part, std::int64_t row, std::int64_t first,
                         std::int64_t count) const {
    const SeenSpan seen = of(part, row);
    const std::int64_t end = std::min(seen.end - first, count);
    if (end <= 0 || seen.first >= first + count) return {0, true};
    return {end, !adds() && seen.first <= first};
  }

  void read(const AttentionPart& part, std::int64_t row, std::int64_t first, std::int64_t count,
            float* to) const {
    const SeenSpan seen = of(part, row);
    const std::int64_t begin = std::clamp<std::int64_t>(seen.first - first, 0, count);
    const std::int64_t end = std::clamp<std::int64_t>(seen.end - first, begin, count);
    if (mask_.data == nullptr) {
      std::fill(to + begin, to + end, 0.0F);
    } else {
      std::byte* from = mask_.row(part.query(row), part.head(row) % mask_.sizes[2]);
      read_f32(mask_, from, first + begin, end - begin, to + begin);
    }
    if (params_.max_bias > 0) {
      const std::int64_t position = unit_.sequence.position(part.query(row));
      for (std::int64_t n = begin; n < end; ++n)
        to[n] -= static_cast<float>(std::abs(position - first - n));
    }
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    std::fill(to, to + begin, kHidden);
    std::fill(to + end, to + count, kHidden);
  }

 private:
  /// Whether anything but minus infinity is added to scores.
  bool adds() const { return mask_.data != nullptr || params_.max_bias > 0; }
  SeenSpan of(const AttentionPart& part, std::int64_t row) const {
    return seen_span(params_.span, params_.window, unit_.sequence.position(part.query(row)),
                     unit_.sequence.keys);
  }

  const TensorArg& mask_;
  const PagedAttentionParams& params_;
  const PagedUnit& unit_;
};

/// A unit as a worker computes it.
class UnitWork {
 public:
  UnitWork(const Call& call, const PagedAttentionParams& params, const PagedPlan& plan,
           const PagedSizes& sizes, PagedUnit& unit, const AttentionRoom& room)
      : call_(call),
        params_{params.scale, params.max_bias, params.softcap},
        plan_(plan),
        unit_(unit),
        room_(room),
        mask_(call, params, unit),
        keys_{.table = &call.sources[4],
              .first_entry = unit.sequence.first_entry,
              .block = params.block,
              .shift = std::has_single_bit(static_cast<std::uint64_t>(params.block))
                           ? std::countr_zero(static_cast<std::uint64_t>(params.block))
                           : 0},
        shared_(sizes.shared()),
        group_heads_(sizes.group_heads()),
        rows_(unit.tokens * group_heads_) {}

  void compute(std::int64_t item) const {
    if (unit_.items == 1) return compute_all();
    const std::int64_t stretches = unit_.stretches();
    bool ready = false;
    for (std::int64_t i = stretches * item / unit_.items; i < stretches * (item + 1) / unit_.items;
         ++i) {
      gather(i, ready, plan_.live(unit_, all_rows(), i), plan_.sums(unit_, all_rows(), i));
    }
    if (unit_.left.fetch_sub(1, std::memory_order_acq_rel) == 1) join();
  }

 private:
  std::int64_t all_rows() const { return unit_.turns * rows_; }
  Gathered row_of(float* sums, std::int64_t r) const {
    return {room_.level, sums + r * room_.stride, room_.dv};
  }
  AttentionPart part(std::int64_t turn) const {
    const std::int64_t k_head = unit_.k_head + turn;
    const std::int64_t first = unit_.group * group_heads_;
    return {.k_head = k_head,
            .first_head = k_head * shared_ + first,
            .heads = std::min(group_heads_, shared_ - first),
            .first_query = unit_.first_token,
            .queries = unit_.tokens};
  }

  /// Stretch i of the unit's.
  bool gather(std::int64_t i, bool& ready, bool* live, float* sums) const {
    const std::int64_t begin = (unit_.first_stretch() + i) * unit_.stretch;
    // Blocks begin at multiples of their size, wherever a window begins.
    const std::int64_t first =
        std::max(begin, unit_.keys.first / simd::kKeyBlock * simd::kKeyBlock);
    const std::int64_t end = std::min(begin + unit_.stretch, unit_.keys.end);
    return gather_stretch(
        call_, room_, keys_, {unit_.k_head, unit_.turns, unit_.turns > 1, unit_.keys.end}, first,
        end, ready,
        [&](std::int64_t turn) {
          return AttentionRows(call_, params_, part(turn), keys_, mask_, room_, turn * rows_,
                               live + turn * rows_);
        },
        [&](std::int64_t turn) { return sums + turn * rows_ * room_.stride; });
  }

  void clear() const {
    for (std::int64_t r = 0; r < all_rows(); ++r) row_of(room_.joined, r).clear();
  }
  void add(const bool* live, float* sums) const {
    for (std::int64_t turn = 0; turn < unit_.turns; ++turn) {
      for (std::int64_t r = turn * rows_; r < turn * rows_ + part(turn).rows(); ++r) {
        if (live[r]) row_of(room_.joined, r).add(row_of(sums, r));
      }
    }
  }
  void finish() const {
    for (std::int64_t turn = 0; turn < unit_.turns; ++turn) {
      const AttentionPart of_turn = part(turn);
      for (std::int64_t r = 0; r < of_turn.rows(); ++r)
        finish_row(call_, call_.sources[6], of_turn, r, row_of(room_.joined, turn * rows_ + r));
    }
  }

  void compute_all() const {
    clear();
    bool ready = false;
    for (std::int64_t i = 0; i < unit_.stretches(); ++i) {
      if (gather(i, ready, room_.live, room_.gathered)) add(room_.live, room_.gathered);
    }
    finish();
  }

  void join() const {
    clear();
    for (std::int64_t i = 0; i < unit_.stretches(); ++i)
      add(plan_.live(unit_, all_rows(), i), plan_.sums(unit_, all_rows(), i));
    finish();
  }

  const Call& call_;
  ScoreParams params_;
  const PagedPlan& plan_;
  PagedUnit& unit_;
  const AttentionRoom& room_;
  SpanMask mask_;
  KeyRows keys_;
  std::int64_t shared_;
  std::int64_t group_heads_;
  std::int64_t rows_;
};

class PagedAttention final : public AnyCaseKernel {
 public:
  const Op& op() const override { return paged_attention_op(); }
  int phases() const override { return 2; }

  std::int64_t items(const Call& call, int phase) const override {
    if (call.result.rows() == 0 || call.result.sizes[0] == 0) return 0;
    return phase == 0 ? 1 : call.threads;
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    return element_count(node.result().shape) == 0 ? 0 : PagedPlan::bytes(sizes_of(node));
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    if (element_count(node.result().shape) == 0) return 0;
    const PagedSizes sizes = sizes_of(node);
    const std::int64_t rows = saturating_multiply(sizes.heads, sizes.tokens);
    return AttentionRoom::bytes(sizes.d, sizes.dv, std::min(sizes.limit(), rows));
  }

  Fault run(const Call& call, int phase, std::int64_t, std::int64_t,
            std::byte* scratch) const override {
    const auto& params = call.params->get<PagedAttentionParams>();
    const PagedSizes sizes = sizes_of(call, params);
    PagedPlan plan(sizes, call.scratch);
    if (phase == 0) {
      if (!plan.make(call, params)) return Fault::kIndexOutOfRange;
      clear_tokens(call, plan.end());
      return Fault::kNone;
    }
    while (const PagedItem* item = plan.take()) {
      if (call.run != nullptr && call.run->cancelled()) break;
      PagedUnit& unit = plan.unit(item->unit);
      const std::int64_t rows = unit.turns * unit.tokens * sizes.group_heads();
      const AttentionRoom room(as_f32(scratch), call, rows);
      UnitWork(call, params, plan, sizes, unit, room).compute(item->number);
    }
    return Fault::kNone;
  }

 private:
  /// Tokens of no sequence.
  static void clear_tokens(const Call& call, std::int64_t first) {
    for (std::int64_t t = first; t < call.result.sizes[2]; ++t) {
      for (std::int64_t h = 0; h < call.result.sizes[1]; ++h)
        std::fill_n(as_f32(call.result.row(h, t)), call.result.sizes[0], 0.0F);
    }
  }
};

}  // namespace

KernelList paged_attention_kernels() {
  return list_kernels<CpuKernel, PagedAttention>();
}

}  // namespace shunt::cpu
