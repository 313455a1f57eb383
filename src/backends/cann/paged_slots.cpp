#include "backends/cann/paged_slots.h"

#include <algorithm>
#include <numeric>

#include "backends/cann/sequence_rows.h"
#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

// Sources of the op.
enum : std::size_t { kKeys = 1, kSequences = 3, kTable = 4, kMask = 5 };

View zeros(Calls& calls, View::Dims sizes) {
  const View made = calls.temporary(DataType::kFloat, std::move(sizes));
  calls.fill(made, 0.0F);
  return made;
}

/// The keys that a token sees, of those of its sequence: F32 [T].
struct Seen {
  View first, end;
};

Seen seen_of(Calls& calls, const PagedAttentionParams& params, const View& positions,
             const View& keys) {
  RowMath math(calls);
  const auto at_least_0 = [&](const View& numbers) {
    calls(kClamp, numbers, 0.0F, std::nullopt, numbers);
    return numbers;
  };
  const auto window = static_cast<double>(params.window);
  const std::int64_t half_window = params.window / 2;
  const auto half = static_cast<double>(half_window);
  const View next = math.plus(positions, 1);
  switch (params.span) {
    case AttentionSpan::kCausal:
      return {zeros(calls, keys.sizes()), next};
    case AttentionSpan::kSlidingWindow:
      return {at_least_0(math.plus(next, -window)), next};
    case AttentionSpan::kChunked: {
      // Half a position more is never at a multiple of the window.
      const View chunk = math.quotient(math.plus(positions, 0.5), window);
      calls(kInplaceMuls, chunk, window);
      return {chunk, next};
    }
    case AttentionSpan::kBidirectional:
      return {zeros(calls, keys.sizes()), keys};
    case AttentionSpan::kBidirectionalWindow: {
      const View end = math.plus(next, half);
      calls(kMinimum, end, keys, end);
      return {at_least_0(math.plus(positions, -half)), end};
    }
  }
  return {};
}

}  // namespace

PagedSlots::PagedSlots(Calls& calls, const Operands& node)
    : calls_(calls),
      node_(node),
      params_(node.params<PagedAttentionParams>()),
      sequences_(node.sizes(kSequences)[1]),
      entries_(node.sizes(kTable)[0]),
      slots_(entries_ * params_.block),
      rows_(node.sizes(kKeys)[2]),
      tokens_(node.sizes(0)[2]) {
  const std::int64_t columns = node.has_source(kMask) ? node.sizes(kMask)[0] : -1;
  key_ = fmt::format("of {} by {} in blocks of {}, {} {}, {} rows, {} tokens, {} columns",
                     node.content(kSequences), node.content(kTable), params_.block,
                     static_cast<int>(params_.span), params_.window, rows_, tokens_, columns);
}

View PagedSlots::column(std::int64_t i) const {
  const View numbers = node_.source(kSequences).sliced(0, i, 1);
  return calls_.cast(calls_.contiguous(numbers).reshaped({sequences_}), DataType::kFloat);
}

bool PagedSlots::prepare() {
  if (sequences_ == 0) return false;
  const bool has_slots = slots_ > 0 && rows_ > 0;
  bool is_new = false;
  std::tie(bases_, is_new) = calls_.shared("bases " + key_, DataType::kFloat, {tokens_});
  positions_ = calls_.shared("positions " + key_, DataType::kFloat, {tokens_}).first;
  hidden_ = calls_.shared("hidden " + key_, DataType::kBool, {slots_, tokens_}).first;
  row_of_ = calls_.shared("rows " + key_, DataType::kInt32, {slots_}).first;
  if (!is_new) return has_slots;

  // Tables of sequences end with 0, for tokens of none.
  RowMath math(calls_);
  SequenceEnds ends(calls_, column(0), tokens_);
  const auto table = [&](const View& numbers) {
    const View made = zeros(calls_, {sequences_ + 1});
    calls_.copy(made.sliced(0, 0, sequences_), numbers);
    return made;
  };
  const View all_keys = column(1);
  const View first_slots = column(2);
  check_blocks(first_slots, all_keys);
  calls_(kInplaceMuls, first_slots, static_cast<float>(params_.block));
  const View keys = table(all_keys);
  const View bases = table(first_slots);
  const View offsets = math.add(keys, ends.ends(), -1);
  const View too_few = calls_.temporary(DataType::kBool, {sequences_ + 1});
  calls_(kLtScalar, math.add(offsets, ends.begins()), 0.0F, too_few);
  calls_.check_none(too_few.sliced(0, 0, sequences_),
                    "an index is out of range: a sequence has fewer keys than tokens");

  const View number = ends.of_tokens(tokens_);
  const View row = math.rows(number, sequences_ + 1);
  select_rows(calls_, bases, row, bases_);
  calls_(kAdd, select_rows(calls_, offsets, row), math.count_up(tokens_), 1.0F, positions_);
  if (!has_slots) return false;
  const Seen seen = seen_of(calls_, params_, positions_, select_rows(calls_, keys, row));
  // Tokens of no sequence see nothing.
  const View end = math.times(seen.end, math.below(number, static_cast<double>(sequences_)));
  const View first_seen = math.add(bases_, seen.first);
  const View last_seen = math.plus(math.add(bases_, end), -1);
  const View slot = math.count_up(slots_).reshaped({slots_, 1});
  calls_(kLtTensor, slot, first_seen.reshaped({1, tokens_}), hidden_);
  const View is_after = calls_.temporary(DataType::kBool, {slots_, tokens_});
  calls_(kGtTensor, slot, last_seen.reshaped({1, tokens_}), is_after);
  calls_(kInplaceMaskedFillScalar, hidden_, is_after, Scalar(DataType::kBool, 1));
  fill_rows();
  return true;
}

/// Entries of the table, of which each is the number of a block of the cache.
View PagedSlots::near_entries() const {
  const View table = calls_.contiguous(node_.source(kTable)).reshaped({entries_});
  const View near = calls_.temporary(DataType::kInt32, {entries_});
  const auto last =
      static_cast<double>(std::max<std::int64_t>(ceil_div(rows_, params_.block) - 1, 0));
  calls_(kClamp, table, Scalar(DataType::kInt32, 0), Scalar(DataType::kInt32, last), near);
  return near;
}

void PagedSlots::check_blocks(const View& firsts, const View& keys) const {
  RowMath math(calls_);
  const auto block = static_cast<float>(params_.block);
  const auto expect_at_most_0 = [&](const View& excess, const char* text) {
    const View bad = calls_.temporary(DataType::kBool, excess.sizes());
    calls_(kGtScalar, excess, 0.0F, bad);
    calls_.check_none(bad, text);
  };
  const View ends = math.add(keys, firsts, static_cast<double>(block));
  const View below = math.plus(firsts, 0);
  calls_(kInplaceMuls, below, -1.0F);
  const View excess = math.plus(ends, -static_cast<double>(slots_));
  calls_(kMaximum, excess, below, excess);
  expect_at_most_0(
      excess, "an index is out of range: a sequence has entries that are not in the block table");
  if (node_.has_source(kMask)) {
    const auto columns = static_cast<double>(node_.sizes(kMask)[0]);
    expect_at_most_0(math.plus(keys, -columns),
                     "an index is out of range: the mask has no column for a key");
  }
  if (entries_ == 0) return;

  // How many rows of an entry's block the sequences use at most.
  const View::Dims sizes = {entries_, sequences_};
  const View rows_before = math.add(math.count_up(entries_).reshaped({entries_, 1}),
                                    firsts.reshaped({1, sequences_}), -1, sizes);
  calls_(kInplaceMuls, rows_before, block);
  const View used = math.add(keys.reshaped({1, sequences_}), rows_before, -1, sizes);
  calls_(kClamp, used, 0.0F, block, used);
  const View is_before = calls_.temporary(DataType::kBool, sizes);
  calls_(kLtScalar, rows_before, 0.0F, is_before);
  calls_(kInplaceMaskedFillScalar, used, is_before, 0.0F);
  const View most = math.make({entries_});
  calls_(kAmax, used, {used.vendor_dim(1)}, false, most);

  const View near = near_entries();
  const View is_near = calls_.temporary(DataType::kBool, {entries_});
  calls_(kEqTensor, calls_.contiguous(node_.source(kTable)).reshaped({entries_}), near, is_near);
  const View is_outside = calls_.temporary(DataType::kBool, {entries_});
  calls_(kLogicalNot, is_near, is_outside);
  const View beyond =
      math.plus(math.add(most, calls_.cast(near, DataType::kFloat), static_cast<double>(block)),
                -static_cast<double>(rows_));
  const View outside = math.times(most, calls_.cast(is_outside, DataType::kFloat));
  calls_(kMaximum, beyond, outside, beyond);
  expect_at_most_0(beyond,
                   "an index is out of range: a sequence has a block that is not in the cache");
}

void PagedSlots::fill_rows() const {
  const View in_block = calls_.temporary(DataType::kInt32, {params_.block});
  calls_(kArange, std::int64_t{0}, params_.block, std::int64_t{1}, in_block);
  calls_(kAdd, in_block.reshaped({params_.block, 1}), near_entries().reshaped({1, entries_}),
         params_.block, row_of_.reshaped({params_.block, entries_}));
  calls_(kClamp, row_of_, Scalar(DataType::kInt32, 0),
         Scalar(DataType::kInt32, static_cast<double>(rows_ - 1)), row_of_);
  // Rows that no token sees may never have been written.
  const View unseen = calls_.temporary(DataType::kUint8, {slots_, 1});
  const View hidden = hidden_.as(DataType::kUint8);
  calls_(kAmin, hidden, {hidden.vendor_dim(1)}, true, unseen);
  const View is_unseen = unseen.reshaped({slots_});
  calls_(kInplaceMaskedFillScalar, row_of_, is_unseen.as(DataType::kBool),
         Scalar(DataType::kInt32, 0));
  const View other = calls_.temporary(DataType::kInt32, {1});
  calls_(kAmax, row_of_, {0}, true, other);
  const View instead = calls_.temporary(DataType::kInt32, {slots_});
  calls_(kMul, calls_.cast(is_unseen, DataType::kInt32), other, instead);
  calls_(kInplaceAdd, row_of_, instead, std::int64_t{1});
}

View PagedSlots::unseen() const {
  const auto [made, is_new] = calls_.shared("unseen " + key_, DataType::kUint8, {1, tokens_});
  const View hidden = hidden_.as(DataType::kUint8);
  if (is_new) calls_(kAmin, hidden, {hidden.vendor_dim(0)}, true, made);
  return made.as(DataType::kBool).reshaped({1, 1, tokens_, 1});
}

std::optional<View> PagedSlots::bias() const {
  const bool has_mask = node_.has_source(kMask);
  const bool has_distances = params_.max_bias > 0;
  if (!has_mask && !has_distances) return std::nullopt;
  const std::int64_t heads = has_mask ? node_.sizes(kMask)[2] : 1;
  const DataType type = has_mask && !has_distances ? node_.source(kMask).type() : DataType::kFloat;
  const std::string mask = has_mask ? node_.content(kMask) : "none";
  const auto [made, is_new] = calls_.shared(fmt::format("bias {} {} {}", mask, has_distances, key_),
                                            type, {slots_, tokens_, heads});
  View bias = made.reshaped({slots_, tokens_, heads, 1});
  if (!is_new) return bias;

  RowMath math(calls_);
  const View::Dims sizes = {slots_, tokens_};
  const View key = math.add(math.count_up(slots_).reshaped({slots_, 1}),
                            bases_.reshaped({1, tokens_}), -1, sizes);
  std::optional<View> values;
  if (has_mask) {
    const std::int64_t columns = node_.sizes(kMask)[0];
    const View place = calls_.temporary(DataType::kInt32, sizes);
    const View clamped = math.make(sizes);
    calls_(kClamp, key, 0.0F, static_cast<float>(columns - 1), clamped);
    calls_(kCast, clamped, DataType::kInt32, place);
    const View token = calls_.temporary(DataType::kInt32, {tokens_});
    calls_(kArange, std::int64_t{0}, tokens_, std::int64_t{1}, token);
    calls_(kInplaceAdd, place, token.reshaped({1, tokens_}), columns);
    const View flat = calls_.contiguous(node_.source(kMask)).reshaped({columns * tokens_, heads});
    values = has_distances ? calls_.temporary(flat.type(), {slots_, tokens_, heads}) : made;
    calls_(kGatherV2, flat, flat.vendor_dim(0), place, *values);
  }
  if (!has_distances) return bias;
  const View distance = math.add(key, positions_.reshaped({1, tokens_}), -1);
  calls_(kAbs, distance, distance);
  const View away = distance.reshaped({slots_, tokens_, 1});
  if (values) {
    calls_(kAdd, *values, away, -1.0F, made);
  } else {
    calls_(kMuls, away, -1.0F, made);
  }
  return bias;
}

View PagedSlots::gather(const View& cache) const {
  // In parts that the distances of rows and heads are multiples of.
  constexpr std::int64_t kLeastBits = 64;
  View from = cache;
  const auto part_of = [](const View& view) {
    std::int64_t part = view.size(0);
    for (const std::size_t d : {std::size_t{1}, std::size_t{2}}) {
      if (view.size(d) > 1) part = std::gcd(part, view.stride(d));
    }
    return view.stride(0) == 1 || view.size(0) == 1 ? part : 0;
  };
  const std::int64_t bits = bits_of(from.type());
  const std::int64_t least = std::min(kLeastBits, from.size(0) * bits);
  if (part_of(from) * bits < least || extent_of(from) >> 31 != 0) from = calls_.contiguous(from);
  const std::int64_t part = part_of(from);
  const std::int64_t parts = from.size(0) / part;
  const std::int64_t heads = from.size(1);
  const std::int64_t of_row = from.stride(2) / part;
  const std::int64_t of_head = heads > 1 ? from.stride(1) / part : 0;
  const auto [index, is_new] =
      calls_.shared(fmt::format("parts {} {} {} {} {}", parts, heads, of_row, of_head, key_),
                    DataType::kInt32, {parts, slots_, heads});
  if (is_new) {
    const auto count = [&](std::int64_t size, View::Dims sizes) {
      const View made = calls_.temporary(DataType::kInt32, {size});
      calls_(kArange, std::int64_t{0}, size, std::int64_t{1}, made);
      return made.reshaped(std::move(sizes));
    };
    const View of_part = calls_.temporary(DataType::kInt32, {parts, slots_, 1});
    calls_(kAdd, count(parts, {parts, 1, 1}), row_of_.reshaped({1, slots_, 1}), of_row, of_part);
    calls_(kAdd, of_part, count(heads, {1, 1, heads}), of_head, index);
  }
  const View units(from.type(), {part, extent_of(from) / part}, from.data());
  const View made = calls_.temporary(from.type(), {part, parts, slots_, heads});
  calls_(kGatherV2, units, units.vendor_dim(1), index, made);
  return made.reshaped({from.size(0), slots_, heads, 1});
}

}  // namespace shunt::cann
