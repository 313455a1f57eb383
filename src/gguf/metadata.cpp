#include "gguf/metadata.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "gguf/name_index.h"
#include "gguf/value_types.h"
#include "shunt/gguf.h"

namespace shunt::gguf {
namespace {

std::int64_t sign_extended(std::uint64_t bits, std::size_t bytes) {
  const std::size_t unused = 64 - 8 * bytes;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

double as_float(std::uint64_t bits, std::size_t bytes) {
  if (bytes == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

Result<bool> as_bool(std::uint64_t bits, std::size_t position) {
  if (bits > 1) return bad_at(position, "expected a bool, 0 or 1, found {}", bits);
  return bits == 1;
}

Result<const ValueTypeRow*> read_type(Reader& reader, std::string_view what) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const auto number, reader.read<std::uint32_t>(what));
  const ValueTypeRow* row = find_value_type(number);
  if (row == nullptr) return bad_at(position, "expected {}, 0 to 12, found {}", what, number);
  return row;
}

Status read_strings(Reader& reader, std::uint64_t count, std::vector<std::string>* strings) {
  strings->reserve(std::min(count, kMaxReserved));
  for (std::uint64_t i = 0; i < count; ++i) {
    auto string = reader.read_string("a string");
    if (!string) return std::move(string.error()).with_context(item_name("element", i, count, {}));
    strings->emplace_back(*string);
  }
  return ok();
}

/// One number of an array of integers or bools.
Result<std::int64_t> as_integer(const ValueTypeRow& type, std::uint64_t bits,
                                std::size_t position) {
  if (type.kind == Kind::kSigned) return sign_extended(bits, type.bytes);
  if (type.kind == Kind::kBool) {
    SHUNT_ASSIGN(const bool value, as_bool(bits, position));
    return value ? 1 : 0;
  }
  if (bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(ErrorCode::kUnsupported,
                "byte {}: {} is more than an array's element may be (2^63 - 1)", position, bits);
  }
  return static_cast<std::int64_t>(bits);
}

Status read_numbers(Reader& reader, const ValueTypeRow& type, std::uint64_t count, Array* array) {
  const std::size_t start = reader.position();
  SHUNT_ASSIGN(const auto bytes, reader.take(count * type.bytes, "an array"));
  if (type.kind == Kind::kFloat) {
    array->floats.reserve(bytes.size() / type.bytes);
  } else {
    array->integers.reserve(bytes.size() / type.bytes);
  }
  for (std::size_t at = 0; at < bytes.size(); at += type.bytes) {
    const std::uint64_t bits = load_bits(&bytes[at], type.bytes, reader.order());
    if (type.kind == Kind::kFloat) {
      array->floats.push_back(as_float(bits, type.bytes));
    } else {
      auto value = as_integer(type, bits, start + at);
      if (!value) {
        return std::move(value.error())
            .with_context(item_name("element", at / type.bytes, count, {}));
      }
      array->integers.push_back(*value);
    }
  }
  return ok();
}

Result<Value> read_array(Reader& reader) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const ValueTypeRow* type, read_type(reader, "the type of an array's elements"));
  if (type->kind == Kind::kArray) {
    return fail(ErrorCode::kUnsupported, "byte {}: arrays of arrays are not supported", position);
  }
  const bool strings = type->kind == Kind::kString;
  SHUNT_ASSIGN(const auto count,
               reader.read_count("the number of elements", strings ? 8 : type->bytes));
  auto array = std::make_shared<Array>();
  array->type = type->type;
  if (strings) {
    SHUNT_TRY(read_strings(reader, count, &array->strings));
  } else {
    SHUNT_TRY(read_numbers(reader, *type, count, array.get()));
  }
  return Value{ValueType::kArray, std::shared_ptr<const Array>(std::move(array))};
}

Result<Value> read_value(Reader& reader, const ValueTypeRow& type) {
  if (type.kind == Kind::kArray) return read_array(reader);
  if (type.kind == Kind::kString) {
    SHUNT_ASSIGN(const auto string, reader.read_string("a string"));
    return Value{type.type, std::string(string)};
  }
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const auto bytes, reader.take(type.bytes, "a value"));
  const std::uint64_t bits = load_bits(bytes.data(), type.bytes, reader.order());
  if (type.kind == Kind::kSigned) return Value{type.type, sign_extended(bits, type.bytes)};
  if (type.kind == Kind::kFloat) return Value{type.type, as_float(bits, type.bytes)};
  if (type.kind == Kind::kUnsigned) return Value{type.type, bits};
  SHUNT_ASSIGN(const bool value, as_bool(bits, position));
  return Value{type.type, value};
}

/// `*key` is set as soon as it is known, for the message of a later error.
Result<KeyValue> read_entry(Reader& reader, std::string_view* key) {
  const std::size_t position = reader.position();
  SHUNT_ASSIGN(const auto name, reader.read_string("a key"));
  if (name.empty()) return bad_at(position, "expected a key, found one without characters");
  *key = name;
  if (name.size() > kMaxKeyBytes) {
    return bad_at(position, "expected a key of at most {} bytes, found one of {}", kMaxKeyBytes,
                  name.size());
  }
  SHUNT_ASSIGN(const ValueTypeRow* type, read_type(reader, "the type of a value"));
  SHUNT_ASSIGN(Value value, read_value(reader, *type));
  return KeyValue{std::string(name), std::move(value)};
}

Status check_keys_differ(std::span<const KeyValue> metadata) {
  std::vector<std::string_view> keys;
  keys.reserve(metadata.size());
  for (const KeyValue& entry : metadata) keys.push_back(entry.key);
  const auto twice = NameIndex(keys).duplicate();
  if (!twice) return ok();
  return fail(ErrorCode::kBadFile, "{}: the same key as that of metadata {}; keys must differ",
              item_name("metadata", twice->second, metadata.size(), keys[twice->second]),
              twice->first + 1);
}

}  // namespace

std::string item_name(std::string_view kind, std::uint64_t index, std::uint64_t count,
                      std::string_view name) {
  return fmt::format("{} {} of {}{}", kind, index + 1, count,
                     name.empty() ? "" : " " + printable(name));
}

Result<std::vector<KeyValue>> read_metadata(Reader& reader, std::uint64_t count) {
  std::vector<KeyValue> metadata;
  metadata.reserve(std::min(count, kMaxReserved));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view key;
    auto entry = read_entry(reader, &key);
    if (!entry) return std::move(entry.error()).with_context(item_name("metadata", i, count, key));
    metadata.push_back(std::move(*entry));
  }
  SHUNT_TRY(check_keys_differ(metadata));
  return metadata;
}

const Value* find_value(std::span<const KeyValue> metadata, std::string_view key) {
  const auto found = std::ranges::find(metadata, key, &KeyValue::key);
  return found != metadata.end() ? &found->value : nullptr;
}

}  // namespace shunt::gguf
