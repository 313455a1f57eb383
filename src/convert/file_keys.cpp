#include "convert/file_keys.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace shunt {

void FileKeys::set(std::string_view key, gguf::Value value) {
  const std::string name = prefix_ + std::string(key);
  const auto found = std::ranges::find(entries_, name, &gguf::KeyValue::key);
  if (found == entries_.end()) {
    entries_.push_back({name, std::move(value)});
  } else {
    found->value = std::move(value);
  }
}

void FileKeys::count(std::string_view key, std::int64_t value) {
  // A product of sizes may be too large for any model, which its reader says.
  const bool is_short = value <= std::numeric_limits<std::uint32_t>::max();
  set(key, {is_short ? gguf::ValueType::kU32 : gguf::ValueType::kU64,
            static_cast<std::uint64_t>(value)});
}

void FileKeys::number(std::string_view key, double value) {
  // Readers refuse infinity by the name of the key.
  const bool fits = std::abs(value) <= std::numeric_limits<float>::max();
  set(key,
      {gguf::ValueType::kF32, fits ? static_cast<double>(static_cast<float>(value)) : INFINITY});
}

void FileKeys::flag(std::string_view key, bool value) {
  set(key, {gguf::ValueType::kBool, value});
}

void FileKeys::text(std::string_view key, std::string value) {
  set(key, {gguf::ValueType::kString, std::move(value)});
}

void FileKeys::texts(std::string_view key, std::vector<std::string> values) {
  auto array = std::make_shared<gguf::Array>();
  array->type = gguf::ValueType::kString;
  array->strings = std::move(values);
  set(key, {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(std::move(array))});
}

void FileKeys::counts(std::string_view key, std::vector<std::int64_t> values) {
  auto array = std::make_shared<gguf::Array>();
  array->type = gguf::ValueType::kI32;
  array->integers = std::move(values);
  set(key, {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(std::move(array))});
}

void FileKeys::flags(std::string_view key, const std::vector<bool>& values) {
  auto array = std::make_shared<gguf::Array>();
  array->type = gguf::ValueType::kBool;
  for (const bool value : values) array->integers.push_back(value ? 1 : 0);
  set(key, {gguf::ValueType::kArray, std::shared_ptr<const gguf::Array>(std::move(array))});
}

void FileKeys::remove(std::string_view key) {
  std::erase_if(entries_, [&](const gguf::KeyValue& entry) {
    return entry.key == prefix_ + std::string(key);
  });
}

void FileKeys::add_whole(std::string name, gguf::Value value) {
  entries_.push_back({std::move(name), std::move(value)});
}

std::int64_t FileKeys::count_of(std::string_view key) const {
  const auto found = std::ranges::find(entries_, prefix_ + std::string(key), &gguf::KeyValue::key);
  if (found == entries_.end()) return -1;
  const auto* const value = std::get_if<std::uint64_t>(&found->value.data);
  return value == nullptr ? -1 : static_cast<std::int64_t>(*value);
}

}  // namespace shunt
