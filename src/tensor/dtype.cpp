// The table of element types. A new one is a row here, its file under formats/, and its number in
// DType.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "base/fail.h"
#include "shunt/tensor.h"
#include "tensor/formats/half.h"
#include "tensor/formats/plain.h"
#include "tensor/formats/q4_0.h"
#include "tensor/formats/q8_0.h"
#include "tensor/gguf_type_names.h"

namespace shunt {
namespace {

using namespace formats;

// clang-format off
constexpr DTypeTrait kTraits[] = {
  // Precision of a block format: half a step, of the largest value. Q8_0: 1/254. Q4_0: 1/8, as there is no step +8.
  // type        name    elements and bytes of a block            quantized integer  decode                      encode                     precision, exponent
  {DType::kF32,  "F32",  1,               4,                      false,    false,   decode_f32,                 encode_f32,                24, 8},
  {DType::kF16,  "F16",  1,               2,                      false,    false,   decode_f16,                 encode_f16,                11, 5},
  {DType::kQ4_0, "Q4_0", q4_0::kElements, q4_0::kBytes,           true,     false,   q4_0::decode,               q4_0::encode,              3, 5},
  {DType::kQ8_0, "Q8_0", q8_0::kElements, q8_0::kBytes,           true,     false,   q8_0::decode,               q8_0::encode,              7, 5},
  {DType::kI8,   "I8",   1,               1,                      false,    true,    decode_plain<std::int8_t>,  encode_plain<std::int8_t>},
  {DType::kI16,  "I16",  1,               2,                      false,    true,    decode_plain<std::int16_t>, encode_plain<std::int16_t>},
  {DType::kI32,  "I32",  1,               4,                      false,    true,    decode_plain<std::int32_t>, encode_plain<std::int32_t>},
  {DType::kI64,  "I64",  1,               8,                      false,    true,    decode_plain<std::int64_t>, encode_plain<std::int64_t>},
  {DType::kBF16, "BF16", 1,               2,                      false,    false,   decode_bf16,                encode_bf16,               8, 8},
};
// clang-format on

constexpr std::uint8_t kNoRow = 0xff;

/// From a type's number to its row.
constexpr std::array<std::uint8_t, 256> kRows = [] {
  std::array<std::uint8_t, 256> rows = {};
  rows.fill(kNoRow);
  for (std::size_t i = 0; i < std::size(kTraits); ++i) {
    rows[static_cast<std::size_t>(kTraits[i].dtype)] = static_cast<std::uint8_t>(i);
  }
  return rows;
}();

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string supported_names() {
  std::string names;
  for (const DTypeTrait& row : kTraits)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace

const DTypeTrait& trait(DType dtype) {
  const std::uint8_t row = kRows[static_cast<std::size_t>(dtype)];
  assert(row != kNoRow && "a DType is made by name, or by dtype_from_gguf()");
  return kTraits[row != kNoRow ? row : 0];
}

std::span<const DTypeTrait> dtypes() {
  return kTraits;
}

Result<DType> dtype_from_gguf(std::uint32_t number) {
  if (number < kRows.size() && kRows[number] != kNoRow) return static_cast<DType>(number);
  if (const std::string_view name = gguf_type_name(number); !name.empty()) {
    return fail(ErrorCode::kUnsupported,
                "element type {} (GGUF number {}) is not supported yet; those supported are {}",
                name, number, supported_names());
  }
  return invalid("there is no element type with GGUF number {}", number);
}

Result<DType> dtype_from_name(std::string_view name) {
  for (const DTypeTrait& row : kTraits) {
    if (same_name(row.name, name)) return row.dtype;
  }
  for (const GgufTypeName& known : gguf_type_names()) {
    if (!same_name(known.name, name)) continue;
    return fail(ErrorCode::kUnsupported,
                "element type {} is not supported yet; those supported are {}", known.name,
                supported_names());
  }
  return invalid("there is no element type '{}'; those supported are {}", name, supported_names());
}

std::string_view to_string(DType dtype) {
  return trait(dtype).name;
}

bool at_least_as_precise(DType to, DType from) {
  const DTypeTrait& a = trait(to);
  const DTypeTrait& b = trait(from);
  if (a.precision == 0 || b.precision == 0) return false;
  if (a.quantized && !b.quantized) return false;
  return a.precision >= b.precision && a.exponent >= b.exponent;
}

void convert_little_endian(DType dtype, std::span<std::byte> bytes) {
  if constexpr (std::endian::native == std::endian::little) return;
  if (trait(dtype).block_elements != 1) return;
  const std::size_t width = trait(dtype).block_bytes;
  for (; bytes.size() >= width; bytes = bytes.subspan(width))
    std::ranges::reverse(bytes.first(width));
}

}  // namespace shunt
