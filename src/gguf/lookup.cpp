// Metadata by key, with errors that describe the entry that the file should have had.
#include <limits>

#include "gguf/file_state.h"
#include "gguf/value_types.h"
#include "shunt/gguf.h"
#include "shunt/message.h"

namespace shunt::gguf {
namespace {

Error missing(const File& file, std::string_view key, std::string_view expected) {
  return fail(ErrorCode::kNotFound, "{}: no metadata {}, expected {}", file.path(), printable(key),
              expected);
}

Error mismatch(const File& file, std::string_view key, std::string_view expected,
               std::string_view found) {
  return fail(ErrorCode::kBadFile, "{}: metadata {}: expected {}, found {}", file.path(),
              printable(key), expected, found);
}

std::string describe(const Value& value) {
  if (const auto* array = std::get_if<std::shared_ptr<const Array>>(&value.data); array && *array) {
    return fmt::format("an array of {}", to_string((*array)->type));
  }
  return fmt::format("a {}", to_string(value.type));
}

/// Whether an array of `found` is valid where one of `wanted` is expected.
bool is_alike(ValueType wanted, ValueType found) {
  const ValueTypeRow* a = find_value_type(wanted);
  const ValueTypeRow* b = find_value_type(found);
  if (a == nullptr || b == nullptr) return false;
  return a->kind == b->kind || (a->is_integer() && b->is_integer());
}

/// `get`, or the fallback if the key is missing.
template <class T>
Result<T> get_or(const File& file, std::string_view key, T fallback,
                 Result<T> (File::*get)(std::string_view) const) {
  if (file.find(key) == nullptr) return fallback;
  return (file.*get)(key);
}

}  // namespace

const Value* File::find(std::string_view key) const {
  const auto found = state_->keys.find(key);
  return found ? &state_->metadata[*found].value : nullptr;
}

Result<std::string> File::get_string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key, "a string");
  if (const auto* string = std::get_if<std::string>(&value->data)) return *string;
  return mismatch(*this, key, "a string", describe(*value));
}

Result<std::int64_t> File::get_integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key, "an integer");
  if (const auto* integer = std::get_if<std::int64_t>(&value->data)) return *integer;
  if (const auto* whole = std::get_if<std::uint64_t>(&value->data)) {
    if (*whole <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      return static_cast<std::int64_t>(*whole);
    }
    return mismatch(*this, key, "an integer below 2^63", std::to_string(*whole));
  }
  return mismatch(*this, key, "an integer", describe(*value));
}

Result<double> File::get_number(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key, "a number");
  if (const auto* number = std::get_if<double>(&value->data)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&value->data)) {
    return static_cast<double>(*integer);
  }
  if (const auto* whole = std::get_if<std::uint64_t>(&value->data)) {
    return static_cast<double>(*whole);
  }
  return mismatch(*this, key, "a number", describe(*value));
}

Result<bool> File::get_bool(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key, "a bool");
  if (const auto* boolean = std::get_if<bool>(&value->data)) return *boolean;
  return mismatch(*this, key, "a bool", describe(*value));
}

Result<std::shared_ptr<const Array>> File::get_array(std::string_view key,
                                                     ValueType element) const {
  const std::string expected = fmt::format("an array of {}", to_string(element));
  const Value* value = find(key);
  if (value == nullptr) return missing(*this, key, expected);
  const auto* array = std::get_if<std::shared_ptr<const Array>>(&value->data);
  if (array != nullptr && is_alike(element, (*array)->type)) return *array;
  return mismatch(*this, key, expected, describe(*value));
}

Result<std::string> File::get_string_or(std::string_view key, std::string fallback) const {
  return get_or(*this, key, std::move(fallback), &File::get_string);
}

Result<std::int64_t> File::get_integer_or(std::string_view key, std::int64_t fallback) const {
  return get_or(*this, key, fallback, &File::get_integer);
}

Result<double> File::get_number_or(std::string_view key, double fallback) const {
  return get_or(*this, key, fallback, &File::get_number);
}

Result<bool> File::get_bool_or(std::string_view key, bool fallback) const {
  return get_or(*this, key, fallback, &File::get_bool);
}

}  // namespace shunt::gguf
