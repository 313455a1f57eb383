#include "cli/flags/parse_units.h"

#include <cmath>

#include "cli/flags/parse_number.h"

namespace shunt::cli {

Result<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return invalid("\"{}\" is not a percentage such as 10%", text);
  const auto number = parse_number<double>(text.substr(0, text.size() - 1), 0, 100);
  if (!number) return invalid("\"{}\" is not a percentage from 0% to 100%", text);
  return *number / 100;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr int kMostBits = 62;
  struct Unit {
    std::string_view name;
    int shift;
  };
  static constexpr Unit kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - unit.name.size()), 0,
                                             std::ldexp(1.0, kMostBits - unit.shift));
    if (!number) break;
    return static_cast<std::uint64_t>(std::llround(std::ldexp(*number, unit.shift)));
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << kMostBits;
  const auto plain = parse_number<std::uint64_t>(text);
  if (plain && *plain <= kMost) return *plain;
  return invalid("\"{}\" is not a number of bytes such as 4096 or 4MiB, at most {}TiB", text,
                 kMost >> 40);
}

}  // namespace shunt::cli
