#include "cli/near_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace shunt::cli {
namespace {

/// Number of characters to insert, take away or change (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 64;  // nothing that long is a typing mistake
  if (name.empty() || name.size() > kLongest) return "";
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view other : names) {
    // A part of the name is near; so is a mistake in every third character.
    const bool part = name.size() >= 3 && other.find(name) != std::string_view::npos;
    const std::size_t steps = part ? 0 : distance(name, other);
    if (steps <= std::max<std::size_t>(1, std::max(name.size(), other.size()) / 3)) {
      near.emplace_back(steps, other);
    }
  }
  if (near.empty()) return "";
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string_view>::first);
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
