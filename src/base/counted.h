// How messages count things: "1 token", "2 tokens".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt {

/// The noun alone, for where the number is aligned. `what` is its singular; the plural ends in s.
inline std::string noun_for(std::uint64_t number, std::string_view what) {
  return fmt::format("{}{}", what, number == 1 ? "" : "s");
}

inline std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}", number, noun_for(number, what));
}

}  // namespace shunt
