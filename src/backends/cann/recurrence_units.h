// The tokens of a recurrence as units that are computed at the same time: at most kUnitTokens
// tokens of one sequence. A sequence of more tokens is several units, one after another. A unit
// starts at a token that depends on its own sequence alone, so that the results do, too.
#pragma once

#include <functional>
#include <utility>

#include "backends/cann/calls.h"
#include "backends/cann/kernel.h"

namespace shunt::cann {

/// The sources of a recurrence over keys, values and heads. ids and ends follow the states.
struct RecurrenceSources {
  std::size_t states = 0;
  /// Whether `states` has values innermost, [V, K, H, R], or keys, [K, V, H, R].
  bool values_first = false;
};

class RecurrenceUnits {
 public:
  static constexpr std::int64_t kUnitTokens = 32;

  /// The most units of a node that are computed one after another.
  static std::int64_t most_in_order(const NodeView& view, const RecurrenceSources& sources);

  /// `node`: a source 0 of [.., T, S], states of [.., R].
  RecurrenceUnits(Calls& calls, const Operands& node, const RecurrenceSources& sources);

  std::int64_t keys() const { return keys_; }
  std::int64_t values() const { return values_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t units() const { return units_; }
  /// Tokens of a unit. All have so many; some of them are absent.
  std::int64_t steps() const { return steps_; }
  /// Whether a sequence may be several units.
  bool continues() const { return tokens_ > kUnitTokens; }
  /// Places for states: units, and one more for zeros where `before` needs it.
  std::int64_t places() const { return units_ + (continues() && has_ends_ ? 1 : 0); }

  /// `x`: F32 [F, H, T, S]. The result is [F, H, units, steps] without gaps, with `absent` for
  /// absent tokens.
  View tokens(const View& x, float absent);
  /// The states that units start with, F32 [K, V + more, H, places]: those of the sequences for the
  /// first units, zeros for others. The columns from V on are the identity for others, and zeros
  /// for first units; `more` is K or 0.
  View states(std::int64_t more);
  /// `states`: [K, V, H, places] after each unit, which others than first ones started from zeros.
  /// `add(after, before, unit)` adds the part that comes from the states before n units. Both views
  /// are [K, V, H, n], and `unit` is the number of the first unit.
  using Add = std::function<void(const View& after, const View& before, std::int64_t unit)>;
  void carry(const View& states, const Add& add);
  /// The states before the last n units, [K, V, H, n], which are all that are no first ones; zeros
  /// for first ones.
  View before(const View& states);
  /// Writes the outputs [V, H, units, steps].
  void write_outputs(const View& outputs);
  /// Writes the states after the last unit of each sequence.
  void write_states(const View& states);
  /// Makes all outputs 0.
  void clear_outputs();

 private:
  /// Rows of other views, Int32, where sequences end at numbers in the device's memory.
  struct Rows {
    View token;   ///< [units * steps], of tokens and an absent one
    View start;   ///< [units], of the sequences' states and that of other units
    View before;  ///< [units], of states after units, and zeros
    View last;    ///< [S], of units
    View output;  ///< [T], of units * steps tokens, and zeros
  };
  void find_rows(const View& given, const std::string& ends);
  void fill_rows(const View& given);
  View sequence_states();
  View outputs() const;
  View result_states() const;
  View chunks(const View& tokens, bool last) const;
  View chunks_of_units(const View& units, bool last) const;

  Calls& calls_;
  const Operands& node_;
  RecurrenceSources sources_;
  bool has_ends_;
  std::int64_t tokens_;
  std::int64_t sequences_;
  std::int64_t keys_, values_, heads_;
  std::int64_t units_;
  std::int64_t steps_;
  Rows rows_;
};

}  // namespace shunt::cann
