#include "backends/cann/recurrence_units.h"

#include <algorithm>
#include <array>

#include "base/ceil_div.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

constexpr DataType kNumber = DataType::kFloat;

std::int64_t count_units(std::int64_t tokens, std::int64_t sequences, bool has_ends) {
  constexpr std::int64_t kMost = RecurrenceUnits::kUnitTokens;
  if (tokens <= kMost) return sequences;
  // Each sequence has a unit at least, and at most one that is not full.
  return has_ends ? sequences + tokens / kMost : sequences * ceil_div(tokens, kMost);
}

View::Dims with_last(View::Dims sizes, std::int64_t last) {
  sizes.back() = last;
  return sizes;
}

}  // namespace

std::int64_t RecurrenceUnits::most(const NodeView& view, const RecurrenceSources& sources) {
  const bool has_ends = view.has_source(sources.states + 2);
  const Tensor& leader = view.source(0);
  const std::int64_t sequences =
      has_ends ? view.source(sources.states + 2).shape[0].max : leader.shape[3].max;
  return count_units(leader.shape[2].max, sequences, has_ends);
}

RecurrenceUnits::RecurrenceUnits(Calls& calls, const Operands& node,
                                 const RecurrenceSources& sources)
    : calls_(calls),
      node_(node),
      sources_(sources),
      has_ends_(node.has_source(sources.states + 2)),
      tokens_(node.sizes(0)[2]),
      sequences_(has_ends_ ? node.sizes(sources.states + 2)[0] : node.sizes(0)[3]) {
  const Sizes sizes = node.sizes(sources.states);
  keys_ = sizes[sources.values_first ? 1 : 0];
  values_ = sizes[sources.values_first ? 0 : 1];
  heads_ = sizes[2];
  units_ = count_units(tokens_, sequences_, has_ends_);
  steps_ = std::min(tokens_, kUnitTokens);
  if (has_ends_ && sequences_ > 0 && tokens_ > 0)
    find_rows(node.source(sources.states + 2), node.source_id(sources.states + 2));
}

// ---- rows of sequences with ends

void RecurrenceUnits::find_rows(const View& given, NodeId ends) {
  bool is_first = false;
  const auto row = [&](const char* name, std::int64_t size) {
    const auto [view, is_new] = calls_.shared(
        fmt::format("{} of {} units that end at {}", name, units_, ends), DataType::kInt32, {size});
    is_first = is_new;
    return view;
  };
  rows_ = {.token = row("tokens", units_ * steps_),
           .start = row("starts", units_),
           .before = row("units before", units_),
           .last = row("last units", sequences_),
           .output = row("outputs", tokens_)};
  if (is_first) fill_rows(checked_ends(given));
}

/// The ends as F32 [S], from 0 to T.
View RecurrenceUnits::checked_ends(const View& given) {
  const View ends = calls_.cast(calls_.contiguous(given).reshaped({sequences_}), kNumber);
  const View clamped = calls_.temporary(kNumber, {sequences_});
  calls_(kClamp, ends, Scalar(0.0F), Scalar(static_cast<double>(tokens_)), clamped);
  const View bad = calls_.temporary(DataType::kBool, {sequences_});
  calls_(kEqTensor, ends, clamped, bad);
  calls_(kLogicalNot, bad, bad);
  calls_.check_none(bad, "an end of a sequence is below 0 or beyond the tokens");
  if (sequences_ > 1) {
    const View decrease = calls_.temporary(DataType::kBool, {sequences_ - 1});
    calls_(kLtTensor, ends.sliced(0, 1, sequences_ - 1), ends.sliced(0, 0, sequences_ - 1),
           decrease);
    calls_.check_none(decrease, "an end of a sequence is before that of the sequence before");
  }
  return clamped;
}

/// The number of the sequence at each place: how many ends are not after it. `at` has places plus
/// 1/2.
View RecurrenceUnits::number_sequences(const View& ends, const View& at) {
  const View is_before = calls_.temporary(kNumber, {at.size(0), sequences_});
  calls_(kLtTensor, ends.reshaped({1, sequences_}), at.reshaped({at.size(0), 1}), is_before);
  const View number = calls_.temporary(kNumber, {at.size(0)});
  calls_(kReduceSum, is_before, {is_before.vendor_dim(1)}, false, kNumber, number);
  return number;
}

void RecurrenceUnits::keep_rows(const View& numbers, std::int64_t count, const View& to) {
  const View clamped = calls_.temporary(kNumber, numbers.sizes());
  calls_(kClamp, numbers, Scalar(0.0F), Scalar(static_cast<double>(count - 1)), clamped);
  calls_(kCast, clamped.reshaped({clamped.elements()}), DataType::kInt32, to);
}

void RecurrenceUnits::fill_rows(const View& ends) {
  const auto numbers = [&](View::Dims sizes) {
    return calls_.temporary(kNumber, std::move(sizes));
  };
  const auto count_up = [&](std::int64_t size, double from = 0) {
    const View made = numbers({size});
    calls_(kArange, Scalar(from), Scalar(from + static_cast<double>(size)), Scalar(1.0F), made);
    return made;
  };
  // y = a + factor * b
  const auto add = [&](const View& a, const View& b, double factor, const View& y) {
    calls_(kAdd, a, b, Scalar(factor), y);
    return y;
  };
  const auto plus = [&](const View& a, double number) {
    const View y = numbers(a.sizes());
    calls_(kAdds, a, Scalar(number), Scalar(1.0F), y);
    return y;
  };
  const auto times = [&](const View& a, const View& b) {
    const View y = numbers(a.sizes());
    calls_(kMul, a, b, y);
    return y;
  };
  // absent + (present - absent) * is_present
  const auto choose = [&](const View& present, double absent, const View& is_present) {
    return plus(times(plus(present, -absent), is_present), absent);
  };
  const auto per_unit = static_cast<double>(steps_);

  // Of sequences, and of one more that has no tokens: the first token, the end, the first unit.
  const View all_begins = numbers({sequences_ + 1});
  const View all_ends = numbers({sequences_ + 1});
  const View all_units = numbers({sequences_ + 1});
  for (const View& each : {all_begins, all_ends, all_units}) calls_.fill(each, Scalar(0.0F));
  const View begins = all_begins.sliced(0, 0, sequences_);
  const View first_units = all_units.sliced(0, 0, sequences_);
  if (sequences_ > 1)
    calls_.copy(begins.sliced(0, 1, sequences_ - 1), ends.sliced(0, 0, sequences_ - 1));
  calls_.copy(all_ends.sliced(0, 0, sequences_), ends);
  const View units = numbers({sequences_});  // of each sequence: 1 at least
  calls_(kDivs, add(ends, begins, -1, numbers({sequences_})), Scalar(per_unit), units);
  calls_(kCeil, units, units);
  calls_(kClamp, units, Scalar(1.0F), Scalar(static_cast<double>(units_)), units);
  const View end_units = numbers({sequences_});
  calls_(kCumsum, units, 0, kNumber, end_units);
  add(end_units, units, -1, first_units);
  keep_rows(plus(end_units, -1), units_, rows_.last);

  const auto look_up = [&](const View& table, const View& number) {
    const View rows = calls_.temporary(DataType::kInt32, number.sizes());
    keep_rows(number, sequences_ + 1, rows);
    return select(table, rows);
  };
  const View unit = count_up(units_);
  const View of_unit = number_sequences(end_units, plus(unit, 0.5));
  const View first_unit = look_up(all_units, of_unit);
  const View is_first = numbers({units_});
  calls_(kEqTensor, unit, first_unit, is_first);
  keep_rows(choose(of_unit, static_cast<double>(sequences_), is_first), sequences_ + 1,
            rows_.start);
  // The unit before, or the zeros after all units.
  const View before =
      add(plus(unit, -1), is_first, static_cast<double>(units_ + 1), numbers({units_}));
  keep_rows(add(before, times(unit, is_first), -1, numbers({units_})), units_ + 1, rows_.before);

  // Tokens of units. The first of a unit is begin + steps * (unit - first unit).
  const View token = add(look_up(all_begins, of_unit), add(unit, first_unit, -1, numbers({units_})),
                         per_unit, numbers({units_}));
  const View length = add(look_up(all_ends, of_unit), token, -1, numbers({units_}));
  const View step = count_up(steps_).reshaped({1, steps_});
  const View present = numbers({units_, steps_});
  calls_(kLtTensor, step, length.reshaped({units_, 1}), present);
  const View tokens = add(token.reshaped({units_, 1}), step, 1, numbers({units_, steps_}));
  keep_rows(choose(tokens, static_cast<double>(tokens_), present), tokens_ + 1, rows_.token);

  // Where tokens are in units: of unit first unit + place / steps, number place % steps.
  const View at = count_up(tokens_);
  const View of_token = number_sequences(ends, plus(at, 0.5));
  const View place = add(at, look_up(all_begins, of_token), -1, numbers({tokens_}));
  const View further = numbers({tokens_});
  calls_(kDivs, place, Scalar(per_unit), further);
  calls_(kFloor, further, further);
  const View in_unit = add(place, further, -per_unit, numbers({tokens_}));
  const View its_unit = add(look_up(all_units, of_token), further, 1, numbers({tokens_}));
  const View row = add(its_unit, in_unit, static_cast<double>(units_), numbers({tokens_}));
  const View is_of_one = numbers({tokens_});
  calls_(kLtScalar, of_token, Scalar(static_cast<double>(sequences_) - 0.5), is_of_one);
  const std::int64_t all = units_ * steps_;
  keep_rows(choose(row, static_cast<double>(all), is_of_one), all + 1, rows_.output);
}

void RecurrenceUnits::select(const View& from, const View& rows, const View& to) {
  calls_(kIndexSelect, from, 0, rows, to);
}

/// Rows of the outermost dimension.
View RecurrenceUnits::select(const View& from, const View& rows) {
  const View made = calls_.temporary(from.type(), with_last(from.sizes(), rows.elements()));
  select(from, rows, made);
  return made;
}

// ---- tokens

/// Tokens [.., T, S] as [.., steps, chunks, S]: those of full units, or of the last ones.
View RecurrenceUnits::chunks(const View& tokens, bool last) const {
  const std::int64_t full = tokens_ / steps_;
  const std::int64_t left = tokens_ % steps_;
  return last ? tokens.sliced(2, full * steps_, left).split(2, left)
              : tokens.sliced(2, 0, full * steps_).split(2, steps_);
}

/// The same part of units [.., units, steps].
View RecurrenceUnits::chunks_of_units(const View& units, bool last) const {
  const std::int64_t full = tokens_ / steps_;
  const View all = units.split(2, sequences_);
  const View part =
      last ? all.sliced(3, full, 1).sliced(4, 0, tokens_ % steps_) : all.sliced(3, 0, full);
  return part.permuted({0, 1, 4, 3, 2});
}

View RecurrenceUnits::tokens(const View& x, float absent) {
  const std::int64_t size = x.size(0), heads = x.size(1);
  if (has_ends_) {
    const View table = calls_.temporary(kNumber, {size, heads, tokens_ + 1});
    calls_.copy(table.sliced(2, 0, tokens_), x.without(3));
    calls_.fill(table.sliced(2, tokens_, 1), Scalar(absent));
    return select(table, rows_.token).reshaped({size, heads, units_, steps_});
  }
  if (!continues()) return calls_.contiguous(x.permuted({0, 1, 3, 2}));
  const View made = calls_.temporary(kNumber, {size, heads, units_, steps_});
  const std::int64_t left = tokens_ % steps_;
  calls_.copy(chunks_of_units(made, false), chunks(x, false));
  if (left == 0) return made;
  calls_.copy(chunks_of_units(made, true), chunks(x, true));
  const std::int64_t full = units_ - sequences_;
  const View missing = made.sliced(2, full, sequences_).sliced(3, left, steps_ - left);
  const View values = calls_.temporary(kNumber, {1, 1, 1, 1});
  calls_.fill(values, Scalar(absent));
  calls_.copy(missing, values);
  return made;
}

/// Of the result: [V, H, T, S].
View RecurrenceUnits::outputs() const {
  const View result = node_.result();
  return {kNumber,
          {values_, heads_, tokens_, has_ends_ ? 1 : sequences_},
          {1, values_, result.stride(1), result.stride(2)},
          result.data()};
}

void RecurrenceUnits::write_outputs(const View& outputs_of_units) {
  if (tokens_ == 0) return;
  const View to = outputs();
  if (has_ends_) {
    const std::int64_t all = units_ * steps_;
    const View table = calls_.temporary(kNumber, {values_ * heads_, all + 1});
    calls_.copy(table.sliced(1, 0, all), outputs_of_units.reshaped({values_ * heads_, all}));
    calls_.fill(table.sliced(1, all, 1), Scalar(0.0F));
    return select(table, rows_.output, to.merged(0).without(2));
  }
  if (!continues()) return calls_.copy(to, outputs_of_units.permuted({0, 1, 3, 2}));
  calls_.copy(chunks(to, false), chunks_of_units(outputs_of_units, false));
  if (tokens_ % steps_ != 0) calls_.copy(chunks(to, true), chunks_of_units(outputs_of_units, true));
}

void RecurrenceUnits::clear_outputs() {
  const View zero = calls_.temporary(kNumber, {1, 1, 1, 1});
  calls_.fill(zero, Scalar(0.0F));
  calls_.copy(outputs(), zero);
}

// ---- states

/// [K, V, H, S], with any strides.
View RecurrenceUnits::sequence_states() {
  View states = node_.source(sources_.states);
  const std::size_t ids = sources_.states + 1;
  if (node_.has_source(ids)) {
    const std::int64_t count = states.size(3);
    const View rows = calls_.indices(node_.source(ids), node_.source_id(ids), count);
    if (count == 0) {  // the run fails
      states = calls_.temporary(kNumber, with_last(states.sizes(), sequences_));
      calls_.fill(states, Scalar(0.0F));
    } else {
      states = select(calls_.contiguous(states), rows.reshaped({sequences_}));
    }
  }
  return sources_.values_first ? states.permuted({1, 0, 2, 3}) : states;
}

View RecurrenceUnits::states(std::int64_t more) {
  const View made = calls_.temporary(kNumber, {keys_, values_ + more, heads_, places()});
  if (sequences_ == 0) return made;
  if (!continues()) {
    calls_.copy(made, sequence_states());
    return made;
  }
  const auto make_start = [&](const View& to, std::int64_t first_others, std::int64_t others) {
    calls_.fill(to, Scalar(0.0F));
    calls_.copy(to.sliced(1, 0, values_).sliced(3, 0, sequences_), sequence_states());
    if (more == 0) return;
    const auto size = static_cast<std::size_t>(keys_);
    const View identity =
        calls_.constant(fmt::format("identity of {}", keys_), size * size, [&](auto numbers) {
          for (std::size_t i = 0; i < size; ++i) numbers[i * (size + 1)] = 1;
        });
    calls_.copy(to.sliced(1, values_, keys_).sliced(3, first_others, others),
                identity.reshaped({keys_, keys_, 1, 1}));
  };
  if (!has_ends_) {
    make_start(made, sequences_, units_ - sequences_);
    return made;
  }
  const View starts = calls_.temporary(kNumber, {keys_, values_ + more, heads_, sequences_ + 1});
  make_start(starts, sequences_, 1);
  select(starts, rows_.start, made.sliced(3, 0, units_));
  calls_.fill(made.sliced(3, units_, 1), Scalar(0.0F));
  return made;
}

void RecurrenceUnits::carry(const View& states, const Add& add) {
  if (!has_ends_) {
    for (std::int64_t unit = sequences_; unit < units_; unit += sequences_)
      add(states.sliced(3, unit, sequences_), states.sliced(3, unit - sequences_, sequences_),
          unit);
    return;
  }
  const View before = calls_.temporary(kNumber, with_last(states.sizes(), 1));
  for (std::int64_t unit = 1; unit < units_; ++unit) {
    select(states, rows_.before.sliced(0, unit, 1), before);
    add(states.sliced(3, unit, 1), before, unit);
  }
}

View RecurrenceUnits::before(const View& states) {
  return has_ends_ ? select(states, rows_.before) : states.sliced(3, 0, units_ - sequences_);
}

/// Of the result: [K, V, H, S].
View RecurrenceUnits::result_states() const {
  const View result = node_.result();
  const View rows = result.sliced(1, node_.tensor(0).shape[2].max, 1);
  const std::int64_t size = keys_ * values_;
  const std::int64_t stride = has_ends_ ? size * heads_ : result.stride(2);
  const std::int64_t of_keys = sources_.values_first ? values_ : 1;
  const std::int64_t of_values = sources_.values_first ? 1 : keys_;
  return {kNumber,
          {keys_, values_, heads_, sequences_},
          {of_keys, of_values, size, stride},
          rows.data()};
}

void RecurrenceUnits::write_states(const View& states) {
  if (sequences_ == 0) return;
  const View to = result_states();
  if (!continues()) return calls_.copy(to, states.sliced(3, 0, sequences_));
  calls_.copy(to, has_ends_ ? select(states, rows_.last)
                            : states.sliced(3, units_ - sequences_, sequences_));
}

}  // namespace shunt::cann
