// The table of metadata value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shunt/gguf.h"

namespace shunt::gguf {

enum class Kind : std::uint8_t { kUnsigned, kSigned, kFloat, kBool, kString, kArray };

struct ValueTypeRow {
  ValueType type = ValueType::kU8;
  std::string_view name;
  Kind kind = Kind::kUnsigned;
  std::size_t bytes = 0;  ///< of a number or a bool; 0 for types with a length of their own

  bool is_integer() const { return kind == Kind::kUnsigned || kind == Kind::kSigned; }
};

/// The row of a type with the format's number, or null.
const ValueTypeRow* find_value_type(std::uint32_t number);
/// The same for a type that a caller gave; null if it was made up.
inline const ValueTypeRow* find_value_type(ValueType type) {
  return find_value_type(static_cast<std::uint32_t>(type));
}

}  // namespace shunt::gguf
