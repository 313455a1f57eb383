// The table of element types. A new one is a row here, its file under formats/, its lines in
// formats/blocks.h, and its number in DType.
#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>

#include "base/fail.h"
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

/// A type of one element a block.
constexpr DTypeTrait plain(DType dtype, std::string_view name, std::size_t bytes, bool integer,
                           Decode decode, Encode encode) {
  return {.dtype = dtype,
          .name = name,
          .block_elements = 1,
          .block_bytes = bytes,
          .quantized = false,
          .integer = integer,
          .decode = decode,
          .encode = encode};
}

template <class T>
constexpr DTypeTrait integer(DType dtype, std::string_view name) {
  return plain(dtype, name, sizeof(T), true, decode_plain<T>, encode_plain<T>);
}

template <class Format>
constexpr DTypeTrait blocks(DType dtype, std::string_view name) {
  DTypeTrait row = {.dtype = dtype,
                    .name = name,
                    .block_elements = Format::kElements,
                    .block_bytes = Format::kBytes,
                    .quantized = true,
                    .integer = false,
                    .decode = decode_rows<Format>};
  if constexpr (EncodesWeighted<Format>) row.encode_weighted = encode_rows_weighted<Format>;
  constexpr bool kEncodes = EncodesPlainly<Format> || EncodesWeighted<Format>;
  if constexpr (kEncodes && !Format::kNeedsWeights) row.encode = encode_rows<Format>;
  return row;
}

constexpr DTypeTrait kTraits[] = {
    plain(DType::kF32, "F32", 4, false, decode_f32, encode_f32),
    plain(DType::kF16, "F16", 2, false, decode_f16, encode_f16),
    blocks<Q4_0>(DType::kQ4_0, "Q4_0"),
    blocks<Q4_1>(DType::kQ4_1, "Q4_1"),
    blocks<Q5_0>(DType::kQ5_0, "Q5_0"),
    blocks<Q5_1>(DType::kQ5_1, "Q5_1"),
    blocks<Q8_0>(DType::kQ8_0, "Q8_0"),
    blocks<Q8_1>(DType::kQ8_1, "Q8_1"),
    blocks<Q2_K>(DType::kQ2_K, "Q2_K"),
    blocks<Q3_K>(DType::kQ3_K, "Q3_K"),
    blocks<Q4_K>(DType::kQ4_K, "Q4_K"),
    blocks<Q5_K>(DType::kQ5_K, "Q5_K"),
    blocks<Q6_K>(DType::kQ6_K, "Q6_K"),
    blocks<Q8_K>(DType::kQ8_K, "Q8_K"),
    blocks<IQ2_XXS>(DType::kIQ2_XXS, "IQ2_XXS"),
    blocks<IQ2_XS>(DType::kIQ2_XS, "IQ2_XS"),
    blocks<IQ3_XXS>(DType::kIQ3_XXS, "IQ3_XXS"),
    blocks<IQ1_S>(DType::kIQ1_S, "IQ1_S"),
    blocks<IQ4_NL>(DType::kIQ4_NL, "IQ4_NL"),
    blocks<IQ3_S>(DType::kIQ3_S, "IQ3_S"),
    blocks<IQ2_S>(DType::kIQ2_S, "IQ2_S"),
    blocks<IQ4_XS>(DType::kIQ4_XS, "IQ4_XS"),
    integer<std::int8_t>(DType::kI8, "I8"),
    integer<std::int16_t>(DType::kI16, "I16"),
    integer<std::int32_t>(DType::kI32, "I32"),
    integer<std::int64_t>(DType::kI64, "I64"),
    plain(DType::kF64, "F64", 8, false, decode_f64, encode_f64),
    blocks<IQ1_M>(DType::kIQ1_M, "IQ1_M"),
    plain(DType::kBF16, "BF16", 2, false, decode_bf16, encode_bf16),
    blocks<TQ1_0>(DType::kTQ1_0, "TQ1_0"),
    blocks<TQ2_0>(DType::kTQ2_0, "TQ2_0"),
    blocks<MXFP4>(DType::kMXFP4, "MXFP4"),
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
    return invalid("there are {} values, but {} numbers that say how important they are", n,
                   importance.size());
  }
  for (std::size_t i = 0; i < importance.size(); ++i) {
    if (std::isfinite(importance[i]) && importance[i] >= 0.0f) continue;
    return invalid("the importance of column {} is {}; it must be finite and not negative", i,
                   importance[i]);
  }
  for (std::size_t i = 0; type.quantized && i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    return invalid("value {} is {}, which {} cannot hold", i, values[i], type.name);
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

void convert_little_endian(DType dtype, std::span<std::byte> bytes) {
  if constexpr (std::endian::native == std::endian::little) return;
  if (trait(dtype).block_elements != 1) return;
  const std::size_t width = trait(dtype).block_bytes;
  for (; bytes.size() >= width; bytes = bytes.subspan(width))
    std::ranges::reverse(bytes.first(width));
}

}  // namespace shunt
