#include "shunt/statistics.h"

#include <algorithm>
#include <vector>

namespace shunt {

Summary summarize(std::span<const double> numbers) {
  if (numbers.empty()) return {};
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  const double median =
      sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return {median, sorted.front(), sorted.back()};
}

bool agree(double a, double b, double tolerance) {
  if (!(a > 0) || !(b > 0)) return false;
  return std::max(a, b) - std::min(a, b) <= tolerance * std::max(a, b);
}

}  // namespace shunt
