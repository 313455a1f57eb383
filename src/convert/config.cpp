#include "convert/config.h"

#include <cmath>
#include <limits>

#include "convert/json_text.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::uint64_t kMostConfigBytes = std::uint64_t{1} << 26;
constexpr std::int64_t kMostOfCounts = std::int64_t{1} << 30;

/// Takes the text before the first `separator` from `*text`.
std::string_view take_until(std::string_view* text, char separator) {
  const std::size_t at = text->find(separator);
  const std::string_view taken = text->substr(0, at);
  *text = at == std::string_view::npos ? std::string_view() : text->substr(at + 1);
  return taken;
}

/// The member of nested objects; null if there is none, or if it is null.
const nlohmann::json* member_of(const nlohmann::json& root, std::string_view path) {
  const nlohmann::json* at = &root;
  while (!path.empty()) {
    const std::string name(take_until(&path, '.'));
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at->is_null() ? nullptr : at;
}

}  // namespace

Result<Config> Config::read(const std::string& path) {
  SHUNT_ASSIGN(nlohmann::json root, read_json_file(path, kMostConfigBytes));
  if (!root.is_object())
    return fail(ErrorCode::kBadFile, "{}: {}; an object is expected", path, describe_json(root));
  return Config(std::move(root), path);
}

Result<Config> Config::parse(std::string_view text, const std::string& path) {
  SHUNT_ASSIGN(nlohmann::json root, parse_json(text, path));
  if (!root.is_object())
    return fail(ErrorCode::kBadFile, "{}: {}; an object is expected", path, describe_json(root));
  return Config(std::move(root), path);
}

const nlohmann::json* Config::find_one(std::string_view name) const {
  if (const nlohmann::json* const part = member_of(root_, "text_config")) {
    if (const nlohmann::json* const found = member_of(*part, name)) return found;
  }
  return member_of(root_, name);
}

const nlohmann::json* Config::find(std::string_view names) const {
  while (!names.empty()) {
    if (const nlohmann::json* const found = find_one(take_until(&names, '|'))) return found;
  }
  return nullptr;
}

Error Config::missing(std::string_view names) const {
  std::string all(take_until(&names, '|'));
  while (!names.empty()) all += fmt::format(" or {}", take_until(&names, '|'));
  return fail(ErrorCode::kNotFound, "{}: {} is missing", path_, all);
}

Error Config::wrong(std::string_view names, std::string_view expected) const {
  const nlohmann::json* const found = find(names);
  std::string_view rest = names;
  std::string_view name = take_until(&rest, '|');
  while (find_one(name) == nullptr && !rest.empty()) name = take_until(&rest, '|');
  return fail(ErrorCode::kBadFile, "{}: {} is {}; expected {}", path_, name,
              found == nullptr ? "missing" : describe_json(*found), expected);
}

Result<std::int64_t> Config::count(std::string_view names,
                                   std::optional<std::int64_t> otherwise) const {
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return otherwise ? Result<std::int64_t>(*otherwise) : missing(names);
  // Some writers have whole numbers as floats.
  const bool is_number = found->is_number();
  const double value = is_number ? found->get<double>() : -1;
  if (value < 0 || value > static_cast<double>(kMostOfCounts) || std::floor(value) != value)
    return wrong(names, fmt::format("a whole number from 0 to {}", kMostOfCounts));
  return static_cast<std::int64_t>(value);
}

Result<double> Config::number(std::string_view names, std::optional<double> otherwise) const {
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return otherwise ? Result<double>(*otherwise) : missing(names);
  const double number = found->is_number() ? found->get<double>() : INFINITY;
  if (!(std::abs(number) <= std::numeric_limits<float>::max()))
    return wrong(names, "a number that 32 bits can hold");
  return number;
}

Result<bool> Config::flag(std::string_view names, std::optional<bool> otherwise) const {
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return otherwise ? Result<bool>(*otherwise) : missing(names);
  if (!found->is_boolean()) return wrong(names, "true or false");
  return found->get<bool>();
}

Result<std::string> Config::text(std::string_view names,
                                 std::optional<std::string> otherwise) const {
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return otherwise ? Result<std::string>(*otherwise) : missing(names);
  if (!found->is_string()) return wrong(names, "a text");
  return found->get<std::string>();
}

Result<std::vector<float>> Config::numbers(std::string_view names, std::size_t size) const {
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return missing(names);
  const std::string expected = fmt::format("an array of {} finite numbers", size);
  if (!found->is_array() || found->size() != size) return wrong(names, expected);
  std::vector<float> numbers;
  for (const nlohmann::json& each : *found) {
    const double number = each.is_number() ? each.get<double>() : INFINITY;
    if (!(std::abs(number) <= std::numeric_limits<float>::max())) return wrong(names, expected);
    numbers.push_back(static_cast<float>(number));
  }
  return numbers;
}

Result<std::vector<std::string>> Config::texts(std::string_view names, std::size_t size) const {
  std::vector<std::string> texts;
  const nlohmann::json* const found = find(names);
  if (found == nullptr) return texts;
  const std::string expected = fmt::format("an array of {} texts, one for each layer", size);
  if (!found->is_array() || found->size() != size) return wrong(names, expected);
  for (const nlohmann::json& each : *found) {
    if (!each.is_string()) return wrong(names, expected);
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

}  // namespace shunt
