#include "gguf/header_bytes.h"

#include <bit>
#include <optional>

#include "gguf/value_types.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::gguf {
namespace {

/// The bits of an integer in a type of `row.bytes` bytes; none if it doesn't fit. Signed ones come
/// as int64.
std::optional<std::uint64_t> signed_bits(const ValueTypeRow& row, std::int64_t value) {
  const std::size_t bits = 8 * row.bytes;
  if (bits < 64) {
    const std::int64_t limit = std::int64_t{1} << (bits - 1);
    if (value < -limit || value >= limit) return std::nullopt;
  }
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> unsigned_bits(const ValueTypeRow& row, std::uint64_t value) {
  if (row.bytes < 8 && value >> (8 * row.bytes) != 0) return std::nullopt;
  return value;
}

/// An array's element, kept as int64 for every type.
std::optional<std::uint64_t> element_bits(const ValueTypeRow& row, std::int64_t value) {
  if (row.kind == Kind::kSigned) return signed_bits(row, value);
  if (value < 0 || (row.kind == Kind::kBool && value > 1)) return std::nullopt;
  return unsigned_bits(row, static_cast<std::uint64_t>(value));
}

std::uint64_t float_bits(const ValueTypeRow& row, double value) {
  if (row.bytes == 4) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

/// The bits of a value that is no string and no array; none if it is not of its type.
std::optional<std::uint64_t> scalar_bits(const ValueTypeRow& row, const Value& value) {
  const auto* whole = std::get_if<std::uint64_t>(&value.data);
  const auto* integer = std::get_if<std::int64_t>(&value.data);
  const auto* number = std::get_if<double>(&value.data);
  const auto* boolean = std::get_if<bool>(&value.data);
  if (row.kind == Kind::kUnsigned && whole != nullptr) return unsigned_bits(row, *whole);
  if (row.kind == Kind::kSigned && integer != nullptr) return signed_bits(row, *integer);
  if (row.kind == Kind::kFloat && number != nullptr) return float_bits(row, *number);
  if (row.kind == Kind::kBool && boolean != nullptr) return *boolean ? 1 : 0;
  return std::nullopt;
}

Error not_of_type(std::string_view key, std::string_view what, std::string_view type) {
  return invalid("metadata {}: {} is not a {}", printable(key), what, type);
}

Status put_array(HeaderBytes* bytes, std::string_view key, const Array& array) {
  const ValueTypeRow* row = find_value_type(array.type);
  if (row == nullptr || row->kind == Kind::kArray) {
    return invalid("metadata {}: arrays hold numbers, bools or strings, not values of type {}",
                   printable(key), to_string(array.type));
  }
  bytes->put_u32(static_cast<std::uint32_t>(array.type));
  bytes->put_u64(array.size());
  if (row->kind == Kind::kString) {
    for (const std::string& string : array.strings) bytes->put_string(string);
  } else if (row->kind == Kind::kFloat) {
    for (const double value : array.floats) bytes->put_bits(float_bits(*row, value), row->bytes);
  } else {
    for (const std::int64_t value : array.integers) {
      const auto bits = element_bits(*row, value);
      if (!bits) return not_of_type(key, std::to_string(value), row->name);
      bytes->put_bits(*bits, row->bytes);
    }
  }
  return ok();
}

}  // namespace

void HeaderBytes::put_bits(std::uint64_t bits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(bits >> (8 * i)));
}

void HeaderBytes::put_text(std::string_view text) {
  const auto* start = reinterpret_cast<const std::byte*>(text.data());
  bytes_.insert(bytes_.end(), start, start + text.size());
}

void HeaderBytes::put_string(std::string_view text) {
  put_u64(text.size());
  put_text(text);
}

Status HeaderBytes::put_metadata(const KeyValue& entry) {
  const Value& value = entry.value;
  const ValueTypeRow* row = find_value_type(value.type);
  if (row == nullptr) return not_of_type(entry.key, "its type", "type of the format");
  put_string(entry.key);
  put_u32(static_cast<std::uint32_t>(value.type));
  if (const auto* string = std::get_if<std::string>(&value.data);
      string && row->kind == Kind::kString) {
    put_string(*string);
    return ok();
  }
  const auto* array = std::get_if<std::shared_ptr<const Array>>(&value.data);
  if (array != nullptr && *array != nullptr && row->kind == Kind::kArray) {
    return put_array(this, entry.key, **array);
  }
  const auto bits = scalar_bits(*row, value);
  if (!bits) return not_of_type(entry.key, "its value", row->name);
  put_bits(*bits, row->bytes);
  return ok();
}

void HeaderBytes::put_tensor(const TensorInfo& info) {
  std::uint32_t dims = kMaxDims;
  while (dims > 1 && info.tensor.shape[dims - 1] == Dim(1)) --dims;
  put_string(info.name);
  put_u32(dims);
  for (std::uint32_t i = 0; i < dims; ++i) {
    put_u64(static_cast<std::uint64_t>(info.tensor.shape[i].max));
  }
  put_u32(static_cast<std::uint32_t>(info.tensor.dtype));
  put_u64(info.offset);
}

}  // namespace shunt::gguf
