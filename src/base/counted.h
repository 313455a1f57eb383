// How messages count things: "1 token", "2 tokens".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt {

/// `what` is the singular of a noun whose plural ends in s.
inline std::string counted(std::uint64_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace shunt
