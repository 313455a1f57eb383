#include "model/architecture_keys.h"

#include <cmath>
#include <memory>
#include <variant>

#include "shunt/message.h"

namespace shunt {

Result<std::int64_t> ArchitectureKeys::count(std::string_view key, std::int64_t max,
                                             std::optional<std::int64_t> fallback) {
  const std::string full = fallback ? note(key) : note_needed(key);
  std::int64_t value = 0;
  if (fallback) {
    SHUNT_ASSIGN(value, file_.get_integer_or(full, *fallback));
  } else {
    SHUNT_ASSIGN(value, file_.get_integer(full));
  }
  if (value >= 1 && value <= max) return value;
  return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be from 1 to {}", file_.path(), full,
              value, max);
}

Result<std::int64_t> ArchitectureKeys::count_or_zero(std::string_view key, std::int64_t max) {
  const std::string full = note(key);
  SHUNT_ASSIGN(const std::int64_t value, file_.get_integer_or(full, 0));
  if (value >= 0 && value <= max) return value;
  return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be from 0 to {}", file_.path(), full,
              value, max);
}

Result<std::vector<std::int64_t>> ArchitectureKeys::count_by_layer(
    std::string_view key, std::size_t layers, std::int64_t max,
    std::optional<std::int64_t> fallback) {
  const std::string full = note(key);
  const gguf::Value* const value = file_.find(full);
  if (value == nullptr ||
      !std::holds_alternative<std::shared_ptr<const gguf::Array>>(value->data)) {
    SHUNT_ASSIGN(const std::int64_t number, count(key, max, fallback));
    return std::vector<std::int64_t>(layers, number);
  }
  SHUNT_ASSIGN(const auto array, file_.get_array(full, gguf::ValueType::kI64));
  if (array->size() != layers) {
    return fail(ErrorCode::kBadFile, "{}: {} has {} for {}", file_.path(), full,
                counted(array->size(), "number"), counted(layers, "layer"));
  }
  for (const std::int64_t number : array->integers) {
    if (number >= 0 && number <= max) continue;
    return fail(ErrorCode::kBadFile, "{}: {} has the number {}; each must be from 0 to {}",
                file_.path(), full, number, max);
  }
  return array->integers;
}

Result<std::vector<bool>> ArchitectureKeys::flag_by_layer(std::string_view key,
                                                          std::size_t layers) {
  const std::string full = note(key);
  if (file_.find(full) == nullptr) return std::vector<bool>();
  SHUNT_ASSIGN(const auto array, file_.get_array(full, gguf::ValueType::kBool));
  if (array->size() != layers) {
    return fail(ErrorCode::kBadFile, "{}: {} has {} for {}", file_.path(), full,
                counted(array->size(), "value"), counted(layers, "layer"));
  }
  std::vector<bool> flags;
  for (const std::int64_t flag : array->integers) flags.push_back(flag != 0);
  return flags;
}

Result<std::vector<std::string>> ArchitectureKeys::strings(std::string_view key) {
  const std::string full = note(key);
  if (file_.find(full) == nullptr) return std::vector<std::string>();
  SHUNT_ASSIGN(const auto array, file_.get_array(full, gguf::ValueType::kString));
  return array->strings;
}

Result<float> ArchitectureKeys::finite(std::string_view key, std::optional<double> fallback) {
  const std::string full = fallback ? note(key) : note_needed(key);
  double value = 0;
  if (fallback) {
    SHUNT_ASSIGN(value, file_.get_number_or(full, *fallback));
  } else {
    SHUNT_ASSIGN(value, file_.get_number(full));
  }
  if (std::isfinite(static_cast<float>(value))) return static_cast<float>(value);
  return fail(ErrorCode::kBadFile, "{}: {} is {}; it must be finite", file_.path(), full, value);
}

}  // namespace shunt
