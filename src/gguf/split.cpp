#include "gguf/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gguf/metadata.h"
#include "shunt/message.h"

namespace shunt::gguf {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::uint64_t kMaxParts = 99999;
constexpr std::string_view kBetween = "-of-";
constexpr std::string_view kEnding = ".gguf";

std::optional<std::uint32_t> parse_digits(std::string_view text) {
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

/// Takes `bytes` from the end of `*text`.
std::string_view take_back(std::string_view* text, std::size_t bytes) {
  const std::string_view taken = text->substr(text->size() - bytes);
  text->remove_suffix(bytes);
  return taken;
}

/// The value of an integer key, at most `highest`; none if it is missing.
Result<std::optional<std::uint64_t>> read_key(std::span<const KeyValue> metadata,
                                              std::string_view key, std::uint64_t highest) {
  const Value* value = find_value(metadata, key);
  if (value == nullptr) return std::nullopt;
  const auto* whole = std::get_if<std::uint64_t>(&value->data);
  const auto* integer = std::get_if<std::int64_t>(&value->data);
  if (whole != nullptr && *whole <= highest) return *whole;
  if (integer != nullptr && *integer >= 0 && static_cast<std::uint64_t>(*integer) <= highest) {
    return static_cast<std::uint64_t>(*integer);
  }
  const std::string found = whole != nullptr     ? std::to_string(*whole)
                            : integer != nullptr ? std::to_string(*integer)
                                                 : std::string(to_string(value->type));
  return fail(ErrorCode::kBadFile, "metadata '{}': expected an integer from 0 to {}, found {}", key,
              highest, found);
}

}  // namespace

std::optional<PartName> parse_part_name(std::string_view path) {
  constexpr std::size_t kTail = 1 + kDigits + kBetween.size() + kDigits + kEnding.size();
  if (path.size() < kTail) return std::nullopt;
  if (take_back(&path, kEnding.size()) != kEnding) return std::nullopt;
  const auto count = parse_digits(take_back(&path, kDigits));
  if (take_back(&path, kBetween.size()) != kBetween) return std::nullopt;
  const auto number = parse_digits(take_back(&path, kDigits));
  if (take_back(&path, 1) != "-" || !count || !number) return std::nullopt;
  if (*number < 1 || *number > *count) return std::nullopt;
  return PartName{std::string(path), *number - 1, *count};
}

std::string part_path(std::string_view prefix, std::uint32_t number, std::uint32_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number + 1, count);
}

Result<Split> read_split(std::span<const KeyValue> metadata) {
  Split split;
  SHUNT_ASSIGN(const auto count, read_key(metadata, "split.count", kMaxParts));
  if (count.value_or(0) <= 1) return split;  // a merge of parts leaves 0 behind
  split.count = static_cast<std::uint32_t>(*count);
  SHUNT_ASSIGN(const auto number, read_key(metadata, "split.no", *count - 1));
  if (!number) {
    return fail(ErrorCode::kBadFile,
                "metadata: one of {} parts, but the number of the part (split.no) is missing",
                *count);
  }
  split.number = static_cast<std::uint32_t>(*number);
  SHUNT_ASSIGN(split.tensors,
               read_key(metadata, "split.tensors.count", std::numeric_limits<std::int64_t>::max()));
  return split;
}

Result<std::string> check_first_part(const std::string& path, const Split& split) {
  const auto name = parse_part_name(path);
  if (!name || name->number != split.number || name->count != split.count) {
    return fail(
        ErrorCode::kBadFile,
        "{}: part {} of {} by its metadata: expected a name that ends in '{}', by which the "
        "other parts are found",
        path, split.number + 1, split.count, part_path("", split.number, split.count));
  }
  if (split.number != 0) {
    return invalid("{}: part {} of {}: open the first part, {}", path, split.number + 1,
                   split.count, part_path(name->prefix, 0, split.count));
  }
  return name->prefix;
}

std::vector<std::string> part_paths(const std::string& path) {
  const auto name = parse_part_name(path);
  if (!name) return {path};
  std::vector<std::string> parts;
  parts.reserve(name->count);
  for (std::uint32_t i = 0; i < name->count; ++i) {
    parts.push_back(part_path(name->prefix, i, name->count));
  }
  return parts;
}

}  // namespace shunt::gguf
