#include "gguf/value_types.h"

#include <iterator>

namespace shunt::gguf {
namespace {

constexpr ValueTypeRow kRows[] = {
    {ValueType::kU8, "u8", Kind::kUnsigned, 1},       {ValueType::kI8, "i8", Kind::kSigned, 1},
    {ValueType::kU16, "u16", Kind::kUnsigned, 2},     {ValueType::kI16, "i16", Kind::kSigned, 2},
    {ValueType::kU32, "u32", Kind::kUnsigned, 4},     {ValueType::kI32, "i32", Kind::kSigned, 4},
    {ValueType::kF32, "f32", Kind::kFloat, 4},        {ValueType::kBool, "bool", Kind::kBool, 1},
    {ValueType::kString, "string", Kind::kString, 0}, {ValueType::kArray, "array", Kind::kArray, 0},
    {ValueType::kU64, "u64", Kind::kUnsigned, 8},     {ValueType::kI64, "i64", Kind::kSigned, 8},
    {ValueType::kF64, "f64", Kind::kFloat, 8},
};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

}  // namespace

const ValueTypeRow* find_value_type(std::uint32_t number) {
  return number < std::size(kRows) ? &kRows[number] : nullptr;
}

std::string_view to_string(ValueType type) {
  const ValueTypeRow* row = find_value_type(type);
  return row != nullptr ? row->name : "unknown";
}

std::size_t Array::size() const {
  const ValueTypeRow* row = find_value_type(type);
  if (row == nullptr) return 0;
  if (row->kind == Kind::kString) return strings.size();
  return row->kind == Kind::kFloat ? floats.size() : integers.size();
}

}  // namespace shunt::gguf
