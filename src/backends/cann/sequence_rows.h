// Rows of tokens, where sequences end at numbers in the device's memory. Rows are computed as F32
// numbers, which are exact below 2^24.
#pragma once

#include "backends/cann/calls.h"

namespace shunt::cann {

/// Whole numbers on the device, F32. Results are temporaries.
class RowMath {
 public:
  explicit RowMath(Calls& calls) : calls_(calls) {}

  View make(View::Dims sizes);
  /// [size]: from, from + 1, ...
  View count_up(std::int64_t size, double from = 0);
  /// a + factor * b
  View add(const View& a, const View& b, double factor, View::Dims sizes);
  View add(const View& a, const View& b, double factor = 1) { return add(a, b, factor, a.sizes()); }
  View plus(const View& a, double number);
  View times(const View& a, const View& b);
  /// present where is_present is 1, absent where it is 0.
  View choose(const View& present, double absent, const View& is_present);
  /// 1 where a is below b, else 0.
  View below(const View& a, const View& b, View::Dims sizes);
  View below(const View& a, double number);
  /// a divided, rounded down.
  View quotient(const View& a, double divisor);
  /// Numbers from 0 to count - 1 as Int32; others become the nearest.
  void keep(const View& numbers, std::int64_t count, const View& rows);
  View rows(const View& numbers, std::int64_t count);
  /// table[number] of a table [count].
  View look_up(const View& table, const View& number);

 private:
  Calls& calls_;
};

/// Rows of the outermost dimension.
void select_rows(Calls& calls, const View& from, const View& rows, const View& to);
View select_rows(Calls& calls, const View& from, const View& rows);

/// The sequences of a call with ends. Each table [S + 1] has a number of each sequence, and 0 for
/// tokens of none.
class SequenceEnds {
 public:
  /// `given`: Int32, S numbers. The run fails if they decrease, or are not from 0 to `tokens`.
  SequenceEnds(Calls& calls, const View& given, std::int64_t tokens);

  std::int64_t count() const { return count_; }
  /// [S + 1].
  const View& begins() const { return begins_; }
  const View& ends() const { return ends_; }
  /// [S].
  View begins_of_all() const { return begins_.sliced(0, 0, count_); }
  View ends_of_all() const { return ends_.sliced(0, 0, count_); }
  /// The sequence of each token, S for those of none: [tokens].
  View of_tokens(std::int64_t tokens);
  /// How many of the ascending numbers [n] are not above `at` [m]: [m].
  View count_up_to(const View& ascending, const View& at);

 private:
  View checked(const View& given, std::int64_t tokens);

  Calls& calls_;
  RowMath math_;
  std::int64_t count_;
  View begins_, ends_;
};

}  // namespace shunt::cann
