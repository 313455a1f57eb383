// Numbers as users type them: the whole text, or a message that names the expected form.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "shunt/message.h"

namespace shunt::cli {

/// The number that `text` is. Invalid if it is none, or not from `low` to `high`.
template <class T>
Result<T> parse_number(std::string_view text, T low = std::numeric_limits<T>::lowest(),
                       T high = std::numeric_limits<T>::max()) {
  T value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  const bool is_number = stop == end && error != std::errc::invalid_argument;
  if constexpr (std::is_floating_point_v<T>) {
    if (!is_number || error != std::errc() || !std::isfinite(value)) {
      return invalid("\"{}\" is not a number", text);
    }
  } else {
    // from_chars() refuses "-1" for an unsigned type. It is a number out of range.
    const bool is_negative =
        text.size() > 1 && text.front() == '-' && text[1] >= '0' && text[1] <= '9';
    if (!is_number && !is_negative) return invalid("\"{}\" is not a whole number", text);
    if (error != std::errc())
      return invalid("{} is out of range; expected {} to {}", text, low, high);
  }
  if (value < low || value > high)
    return invalid("{} is out of range; expected {} to {}", text, low, high);
  return value;
}

}  // namespace shunt::cli
