/// \file
/// Summaries of numbers that were measured several times.
///
/// \code
/// const Summary seconds = summarize(runs);
/// std::cout << seconds.median << " s\n";
/// \endcode
#pragma once

#include <span>

namespace shunt {

struct Summary {
  double median = 0;  ///< of an even count, the mean of the two in the middle
  double low = 0;
  double high = 0;
};

/// All 0 if there are none.
Summary summarize(std::span<const double> numbers);

/// Whether two numbers that should be the same differ by at most that part of the larger. Numbers
/// that are not above 0 agree with none.
bool agree(double a, double b, double tolerance);

}  // namespace shunt
