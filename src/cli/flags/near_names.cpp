#include "cli/flags/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace shunt::cli {
namespace {

/// Number of characters to insert, take away, change or swap with their neighbour (Damerau and
/// Levenshtein's distance, no character touched twice).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

/// How far `name` is from another, or from its last word: "norm" means "rms_norm", too.
std::size_t steps_between(std::string_view name, std::string_view other) {
  const std::size_t whole = distance(name, other);
  const std::size_t cut = other.find_last_of("_-");
  if (cut == std::string_view::npos) return whole;
  return std::min(whole, distance(name, other.substr(cut + 1)));
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 64;  // nothing that long is a typing mistake
  if (name.empty() || name.size() > kLongest) return "";
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view other : names) {
    const std::size_t steps = steps_between(name, other);
    if (steps <= std::max<std::size_t>(1, name.size() / 3)) {
      near.emplace_back(steps, other);
    }
  }
  if (near.empty()) return "";
  std::sort(near.begin(), near.end());  // nearest first, then by name
  near.resize(std::min(near.size(), kMost));
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    text += fmt::format("{}\"{}\"",
                        i == 0                 ? ""
                        : i + 1 == near.size() ? " or "
                                               : ", ",
                        near[i].second);
  }
  return text + "?";
}

}  // namespace shunt::cli
