// The table of element types. A new one is a row here, its file under formats/, its lines in
// formats/blocks.h, and its number in DType.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/plain_nan.h"
#include "shunt/message.h"
#include "shunt/tensor.h"
#include "tensor/formats/blocks.h"
#include "tensor/formats/half.h"
#include "tensor/formats/plain.h"
#include "tensor/formats/rows.h"

namespace shunt {
namespace {

using namespace formats;

using Decode = decltype(DTypeTrait::decode);
using Encode = decltype(DTypeTrait::encode);

/// An element that is one number.
template <class Bits>
constexpr std::array<WideNumbers, sizeof(Bits) == 1 ? 0 : 1> one_number() {
  if constexpr (sizeof(Bits) == 1)
    return {};
  else
    return {WideNumbers{.bytes = sizeof(Bits)}};
}
template <class Bits>
constexpr auto kOneNumber = one_number<Bits>();

/// A type of one element a block, of as many bytes as Bits.
template <class Bits>
constexpr DTypeTrait plain(DType dtype, std::string_view name, Decode decode, Encode encode,
                           int precision, int exponent) {
  return {.dtype = dtype,
          .name = name,
          .block_elements = 1,
          .block_bytes = sizeof(Bits),
          .wide = kOneNumber<Bits>,
          .quantized = false,
          .integer = precision == 0,
          .decode = decode,
          .encode = encode,
          .precision = precision,
          .exponent = exponent};
}

template <class T>
constexpr DTypeTrait integer(DType dtype, std::string_view name) {
  return plain<T>(dtype, name, decode_plain<T>, encode_plain<T>, 0, 0);
}

template <class Format>
constexpr DTypeTrait blocks(DType dtype, std::string_view name, int precision, int exponent) {
  DTypeTrait row = {.dtype = dtype,
                    .name = name,
                    .block_elements = Format::kElements,
                    .block_bytes = Format::kBytes,
                    .wide = Format::kWide,
                    .quantized = true,
                    .integer = false,
                    .decode = decode_rows<Format>,
                    .precision = precision,
                    .exponent = exponent};
  if constexpr (EncodesWeighted<Format>) row.encode_weighted = encode_rows_weighted<Format>;
  constexpr bool kEncodes = EncodesPlainly<Format> || EncodesWeighted<Format>;
  if constexpr (kEncodes && !Format::kNeedsWeights) row.encode = encode_rows<Format>;
  if constexpr (kEncodes) row.largest = Format::kLargest;
  return row;
}

// The last two numbers are precision and exponent. In blocks with a scale alone, the precision is
// the ratio of half a step to the largest value, in bits: Q8_0 1/254; Q4_0 1/8, as there is no step
// +8. With a minimum the steps share its range: Q4_1 2/30. Encoders that search for the least
// square error may be off by more in a value or two.
constexpr DTypeTrait kTraits[] = {
    plain<std::uint32_t>(DType::kF32, "F32", decode_f32, encode_f32, 24, 8),
    plain<std::uint16_t>(DType::kF16, "F16", decode_f16, encode_f16, 11, 5),
    blocks<Q4_0>(DType::kQ4_0, "Q4_0", 3, 5),
    blocks<Q4_1>(DType::kQ4_1, "Q4_1", 3, 5),
    blocks<Q5_0>(DType::kQ5_0, "Q5_0", 4, 5),
    blocks<Q5_1>(DType::kQ5_1, "Q5_1", 4, 5),
    blocks<Q8_0>(DType::kQ8_0, "Q8_0", 7, 5),
    blocks<Q8_1>(DType::kQ8_1, "Q8_1", 7, 5),
    blocks<Q2_K>(DType::kQ2_K, "Q2_K", 1, 5),
    blocks<Q3_K>(DType::kQ3_K, "Q3_K", 2, 5),
    blocks<Q4_K>(DType::kQ4_K, "Q4_K", 3, 5),
    blocks<Q5_K>(DType::kQ5_K, "Q5_K", 4, 5),
    blocks<Q6_K>(DType::kQ6_K, "Q6_K", 5, 5),
    blocks<Q8_K>(DType::kQ8_K, "Q8_K", 7, 8),
    blocks<IQ2_XXS>(DType::kIQ2_XXS, "IQ2_XXS", 1, 5),
    blocks<IQ2_XS>(DType::kIQ2_XS, "IQ2_XS", 1, 5),
    blocks<IQ3_XXS>(DType::kIQ3_XXS, "IQ3_XXS", 2, 5),
    blocks<IQ1_S>(DType::kIQ1_S, "IQ1_S", 1, 5),
    blocks<IQ4_NL>(DType::kIQ4_NL, "IQ4_NL", 3, 5),
    blocks<IQ3_S>(DType::kIQ3_S, "IQ3_S", 2, 5),
    blocks<IQ2_S>(DType::kIQ2_S, "IQ2_S", 1, 5),
    blocks<IQ4_XS>(DType::kIQ4_XS, "IQ4_XS", 3, 5),
    integer<std::int8_t>(DType::kI8, "I8"),
    integer<std::int16_t>(DType::kI16, "I16"),
    integer<std::int32_t>(DType::kI32, "I32"),
    integer<std::int64_t>(DType::kI64, "I64"),
    plain<std::uint64_t>(DType::kF64, "F64", decode_f64, encode_f64, 53, 11),
    blocks<IQ1_M>(DType::kIQ1_M, "IQ1_M", 1, 5),
    plain<std::uint16_t>(DType::kBF16, "BF16", decode_bf16, encode_bf16, 8, 8),
    blocks<TQ1_0>(DType::kTQ1_0, "TQ1_0", 1, 5),
    blocks<TQ2_0>(DType::kTQ2_0, "TQ2_0", 1, 5),
    blocks<MXFP4>(DType::kMXFP4, "MXFP4", 2, 8),
};

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

template <class Bits>
void reverse(std::byte* at) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  if constexpr (sizeof bits == 2) bits = __builtin_bswap16(bits);
  if constexpr (sizeof bits == 4) bits = __builtin_bswap32(bits);
  if constexpr (sizeof bits == 8) bits = __builtin_bswap64(bits);
  std::memcpy(at, &bits, sizeof bits);
}

void reverse_each(const WideNumbers& numbers, std::byte* block) {
  for (int i = 0; i < numbers.count; ++i) {
    std::byte* const at = block + numbers.offset + std::ptrdiff_t{i} * numbers.stride;
    if (numbers.bytes == 2) reverse<std::uint16_t>(at);
    if (numbers.bytes == 4) reverse<std::uint32_t>(at);
    if (numbers.bytes == 8) reverse<std::uint64_t>(at);
  }
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
  return invalid("there is no element type with GGUF number {}; those supported are {}", number,
                 supported_names());
}

Result<DType> dtype_from_name(std::string_view name) {
  for (const DTypeTrait& row : kTraits) {
    if (same_name(row.name, name)) return row.dtype;
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
  if (to == from) return true;
  // Another block format rounds once more, so it must be finer.
  if (a.quantized && (!b.quantized || a.precision == b.precision)) return false;
  return a.precision >= b.precision && a.exponent >= b.exponent;
}

Status encode_row(DType dtype, std::span<const float> values, std::span<const float> importance,
                  std::span<std::byte> bytes) {
  const DTypeTrait& type = trait(dtype);
  const auto n = static_cast<std::int64_t>(values.size());
  if (n % type.block_elements != 0) {
    return invalid("a row of {} values is not whole blocks of {}, which have {}", n, type.name,
                   type.block_elements);
  }
  const std::size_t wanted =
      values.size() / static_cast<std::size_t>(type.block_elements) * type.block_bytes;
  if (bytes.size() != wanted) {
    return invalid("{} values of type {} are {} bytes, not {}", n, type.name, wanted, bytes.size());
  }
  if (!importance.empty() && importance.size() != values.size()) {
    return invalid("there are {} values, but {} numbers of their importance", n, importance.size());
  }
  for (std::size_t i = 0; i < importance.size(); ++i) {
    if (std::isfinite(importance[i]) && importance[i] >= 0.0f) continue;
    return invalid("the importance of column {} is {}; it must be finite and not negative", i,
                   plain_nan(importance[i]));
  }
  const bool encodable = type.encode != nullptr || type.encode_weighted != nullptr;
  for (std::size_t i = 0; type.quantized && encodable && i < values.size(); ++i) {
    if (std::fabs(values[i]) <= type.largest) continue;
    return invalid("the value at column {} is {}, which {} cannot hold: its largest value is {}", i,
                   plain_nan(values[i]), type.name, type.largest);
  }
  if (type.encode_weighted != nullptr && !importance.empty()) {
    type.encode_weighted(values.data(), importance.data(), bytes.data(), n);
  } else if (type.encode != nullptr) {
    type.encode(values.data(), bytes.data(), n);
  } else if (type.needs_weights()) {
    return fail(ErrorCode::kUnsupported, "encoding {} needs an importance matrix", type.name);
  } else {
    return fail(ErrorCode::kUnsupported, "{} is not a type for storage: it cannot be encoded",
                type.name);
  }
  return ok();
}

std::endian order_in_memory(DType dtype) {
  return trait(dtype).block_elements == 1 ? std::endian::native : std::endian::little;
}

bool is_as_in_memory(DType dtype, std::endian order) {
  return trait(dtype).wide.empty() || order == order_in_memory(dtype);
}

void convert_byte_order(DType dtype, std::endian order, std::span<std::byte> bytes) {
  if (is_as_in_memory(dtype, order)) return;
  const DTypeTrait& type = trait(dtype);
  for (; bytes.size() >= type.block_bytes; bytes = bytes.subspan(type.block_bytes)) {
    for (const WideNumbers& numbers : type.wide) reverse_each(numbers, bytes.data());
  }
}

bool is_weight_type(DType dtype) {
  const DTypeTrait& type = trait(dtype);
  if (type.quantized) return type.encode != nullptr || type.needs_weights();
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

}  // namespace shunt
