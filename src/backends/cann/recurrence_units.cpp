#include "backends/cann/recurrence_units.h"

#include <algorithm>
#include <array>

#include "backends/cann/sequence_rows.h"
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

std::int64_t RecurrenceUnits::most_in_order(const NodeView& view,
                                            const RecurrenceSources& sources) {
  const std::int64_t tokens = view.source(0).shape[2].max;
  if (!view.has_source(sources.states + 2)) return count_units(tokens, 1, false);
  return count_units(tokens, view.source(sources.states + 2).shape[0].max, true);
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
    find_rows(node.source(sources.states + 2), node.content(sources.states + 2));
}

// ---- rows of sequences with ends

void RecurrenceUnits::find_rows(const View& given, const std::string& ends) {
  bool is_first = false;
  const auto row = [&](const char* name, std::int64_t size) {
    const auto [view, is_new] = calls_.shared(
        fmt::format("{} of {} tokens in {} units with ends at {}", name, tokens_, units_, ends),
        DataType::kInt32, {size});
    is_first = is_new;
    return view;
  };
  rows_ = {.token = row("tokens", units_ * steps_),
           .start = row("starts", units_),
           .before = row("units before", units_),
           .last = row("last units", sequences_),
           .output = row("outputs", tokens_)};
  if (is_first) fill_rows(given);
}

void RecurrenceUnits::fill_rows(const View& given) {
  RowMath math(calls_);
  SequenceEnds sequences(calls_, given, tokens_);
  const auto per_unit = static_cast<double>(steps_);

  // Units of each sequence, 1 at least: up to which they go, and the first.
  const View lengths = math.add(sequences.ends_of_all(), sequences.begins_of_all(), -1);
  const View more = math.quotient(math.plus(lengths, -1), per_unit);
  const View count = math.make({sequences_});
  calls_(kClamp, math.plus(more, 1), Scalar(1.0F), Scalar(static_cast<double>(units_)), count);
  const View end_units = math.make({sequences_});
  calls_(kCumsum, count, 0, kNumber, end_units);
  const View first_units = math.make({sequences_ + 1});
  calls_.fill(first_units, Scalar(0.0F));
  calls_.copy(first_units.sliced(0, 0, sequences_), math.add(end_units, count, -1));
  math.keep(math.plus(end_units, -1), units_, rows_.last);

  const View unit = math.count_up(units_);
  const View of_unit = sequences.count_up_to(end_units, unit);
  const View first_unit = math.look_up(first_units, of_unit);
  const View is_first = math.make({units_});
  calls_(kEqTensor, unit, first_unit, is_first);
  math.keep(math.choose(of_unit, static_cast<double>(sequences_), is_first), sequences_ + 1,
            rows_.start);
  // The unit before, or the zeros after all units.
  const View before = math.add(math.plus(unit, -1), is_first, static_cast<double>(units_ + 1));
  math.keep(math.add(before, math.times(unit, is_first), -1), units_ + 1, rows_.before);

  // Tokens of units. The first of a unit is begin + steps * (unit - first unit).
  const View token =
      math.add(math.look_up(sequences.begins(), of_unit), math.add(unit, first_unit, -1), per_unit);
  const View length = math.add(math.look_up(sequences.ends(), of_unit), token, -1);
  const View step = math.count_up(steps_).reshaped({1, steps_});
  const View present = math.below(step, length.reshaped({units_, 1}), {units_, steps_});
  const View tokens = math.add(token.reshaped({units_, 1}), step, 1, {units_, steps_});
  math.keep(math.choose(tokens, static_cast<double>(tokens_), present), tokens_ + 1, rows_.token);

  // Where tokens are in units: of unit first unit + place / steps, number place % steps.
  const View of_token = sequences.of_tokens(tokens_);
  const View place =
      math.add(math.count_up(tokens_), math.look_up(sequences.begins(), of_token), -1);
  const View further = math.quotient(place, per_unit);
  const View its_unit = math.add(math.look_up(first_units, of_token), further);
  const View row =
      math.add(its_unit, math.add(place, further, -per_unit), static_cast<double>(units_));
  const View is_of_one = math.below(of_token, static_cast<double>(sequences_) - 0.5);
  const std::int64_t all = units_ * steps_;
  math.keep(math.choose(row, static_cast<double>(all), is_of_one), all + 1, rows_.output);
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
    return select_rows(calls_, table, rows_.token).reshaped({size, heads, units_, steps_});
  }
  if (!continues()) return calls_.contiguous(x.permuted({0, 1, 3, 2}));
  const View made = calls_.temporary(kNumber, {size, heads, units_, steps_});
  const View values = calls_.temporary(kNumber, {1, 1, 1, 1});  // at all sizes, for the plan
  const std::int64_t left = tokens_ % steps_;
  calls_.copy(chunks_of_units(made, false), chunks(x, false));
  if (left == 0) return made;
  calls_.copy(chunks_of_units(made, true), chunks(x, true));
  const std::int64_t full = units_ - sequences_;
  const View missing = made.sliced(2, full, sequences_).sliced(3, left, steps_ - left);
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
    return select_rows(calls_, table, rows_.output, to.merged(0).without(2));
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
    const View rows = calls_.indices(node_.source(ids), node_.content(ids), count);
    if (count == 0) {  // the run fails
      states = calls_.temporary(kNumber, with_last(states.sizes(), sequences_));
      calls_.fill(states, Scalar(0.0F));
    } else {
      states = select_rows(calls_, calls_.contiguous(states), rows.reshaped({sequences_}));
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
  select_rows(calls_, starts, rows_.start, made.sliced(3, 0, units_));
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
    select_rows(calls_, states, rows_.before.sliced(0, unit, 1), before);
    add(states.sliced(3, unit, 1), before, unit);
  }
}

View RecurrenceUnits::before(const View& states) {
  return has_ends_ ? select_rows(calls_, states, rows_.before)
                   : states.sliced(3, 0, units_ - sequences_);
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
  calls_.copy(to, has_ends_ ? select_rows(calls_, states, rows_.last)
                            : states.sliced(3, units_ - sequences_, sequences_));
}

}  // namespace shunt::cann
