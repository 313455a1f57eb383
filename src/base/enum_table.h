// Tables with a row for each enumerator, in the order of the enumeration, which starts at 0.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace shunt {

/// The row of an enumerator.
template <class Enum>
requires std::is_enum_v<Enum>
constexpr std::size_t to_index(Enum value) {
  return static_cast<std::size_t>(value);
}

/// The name in the row of `value`; `otherwise` for a value that is no enumerator.
template <std::size_t kCount, class Enum>
constexpr std::string_view name_in(const std::array<std::string_view, kCount>& names, Enum value,
                                   std::string_view otherwise = "unknown") {
  const std::size_t index = to_index(value);
  return index < kCount ? names[index] : otherwise;
}

}  // namespace shunt
