// Measured costs as a JSON file. The content of a file is checked before it is used.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "shunt/costs.h"
#include "shunt/files.h"
#include "shunt/message.h"

namespace shunt {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "shunt costs";
constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxCostsFileBytes = std::size_t{1} << 24;
constexpr double kMostSeconds = 1e6;

/// One object of the file. `status` keeps its first error.
class Entry {
 public:
  Entry(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  std::string text(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    refuse(key, "is not a string");
    return {};
  }

  /// Seconds: a number from 0 to a million.
  double seconds(const char* key) {
    const Json* value = find(key);
    if (value == nullptr) return 0;
    const double number = value->is_number() ? value->get<double>() : NAN;
    if (number >= 0 && number <= kMostSeconds) return number;
    refuse(key, "is not a number of seconds");
    return 0;
  }

  /// The same; 0 where there is none, as in files of earlier versions.
  double seconds_or_zero(const char* key) {
    return json_.is_object() && !json_.contains(key) ? 0 : seconds(key);
  }

  void refuse(const char* key, const char* why) {
    if (status_) status_ = fail(ErrorCode::kBadFile, "{}: \"{}\" {}", where_, key, why);
  }
  const Status& status() const { return status_; }

 private:
  const Json* find(const char* key) {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    if (json_.is_object() && found != json_.end()) return &*found;
    refuse(key, "is missing");
    return nullptr;
  }

  const Json& json_;
  std::string where_;
  Status status_ = ok();
};

Result<OpCost> read_op(Entry entry) {
  OpCost cost;
  cost.device = entry.text("device");
  cost.description = entry.text("description");
  cost.op = entry.text("op");
  const std::string dtype = entry.text("dtype");
  cost.overhead = entry.seconds("overhead");
  cost.seconds_per_operation = entry.seconds("seconds_per_operation");
  cost.seconds_per_byte = entry.seconds("seconds_per_byte");
  cost.unpack_seconds_per_byte = entry.seconds_or_zero("unpack_seconds_per_byte");
  cost.few_seconds_per_operation = entry.seconds_or_zero("few_seconds_per_operation");
  if (const auto named = dtype_from_name(dtype)) {
    cost.dtype = *named;
  } else {
    entry.refuse("dtype", "is not an element type");
  }
  SHUNT_TRY(entry.status());
  return cost;
}

Result<CopyCost> read_copy(Entry entry) {
  CopyCost cost;
  cost.device = entry.text("device");
  cost.description = entry.text("description");
  const std::string direction = entry.text("direction");
  cost.to_device = direction == "to device";
  if (!cost.to_device && direction != "from device")
    entry.refuse("direction", "is neither \"to device\" nor \"from device\"");
  cost.cost.latency = entry.seconds("latency");
  cost.cost.seconds_per_byte = entry.seconds("seconds_per_byte");
  SHUNT_TRY(entry.status());
  return cost;
}

/// Calls f(entry) for each object in the list `key`.
template <class F>
Status for_each_entry(const Json& json, const std::string& name, const char* key, F f) {
  const auto list = json.find(key);
  if (list == json.end()) return ok();
  if (!list->is_array()) return fail(ErrorCode::kBadFile, "{}: \"{}\" is not a list", name, key);
  std::size_t index = 0;
  for (const Json& item : *list) {
    SHUNT_TRY(f(Entry(item, fmt::format("{}: {}[{}]", name, key, index++))));
  }
  return ok();
}

/// The number of a line, from 1.
std::ptrdiff_t line_at(std::string_view text, std::size_t position) {
  return std::ranges::count(text.substr(0, position), '\n') + 1;
}

/// The place where a text stops being JSON, and the expected continuation.
Error no_json(const Json::parse_error& error, std::string_view text, const std::string& name) {
  const std::size_t byte = std::clamp<std::size_t>(error.byte, 1, text.size() + 1);
  const std::string_view found = byte > text.size() ? "it ends" : "the JSON is not valid";
  // The library's text ends with the expected continuation, if it can name that.
  constexpr std::string_view kMark = "; expected ";
  const std::string_view what = error.what();
  const std::size_t mark = what.rfind(kMark);
  const std::string expected =
      mark == what.npos ? "" : fmt::format("; expected {}", what.substr(mark + kMark.size()));
  return fail(ErrorCode::kBadFile, "{}:{}: at byte {} of the file {}{}", name,
              line_at(text, byte - 1), byte, found, expected);
}

/// The number that is too large.
Error too_large(const Json::out_of_range& error, std::string_view text, const std::string& name) {
  constexpr std::size_t kMostShown = 40;
  // The library's text ends with the number in quotes.
  std::string_view number = error.what();
  number = number.substr(std::min(number.find('\'') + 1, number.size()));
  number = number.substr(0, number.find('\''));
  const std::size_t position = std::min(text.find(number), text.size());
  return fail(ErrorCode::kBadFile, "{}:{}: the number {}{} is too large", name,
              line_at(text, position), number.substr(0, kMostShown),
              number.size() > kMostShown ? "..." : "");
}

}  // namespace

Result<CostModel> CostModel::parse(std::string_view text, const std::string& name) {
  if (text.size() > kMaxCostsFileBytes) {
    return fail(ErrorCode::kBadFile, "{}: {} bytes are too many for a costs file", name,
                text.size());
  }
  if (text.empty()) return fail(ErrorCode::kBadFile, "{}: the file is empty", name);
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    return no_json(error, text, name);
  } catch (const Json::out_of_range& error) {
    return too_large(error, text, name);
  }
  if (!json.is_object() || json.value("format", Json()) != Json(kFormat)) {
    return fail(ErrorCode::kBadFile, "{}: not a costs file (shunt bench costs writes one)", name);
  }
  if (json.value("version", Json()) != Json(kVersion)) {
    return fail(ErrorCode::kBadFile, "{}: its version is {}, this build reads {}", name,
                json.value("version", Json()).dump(-1, ' ', true, Json::error_handler_t::replace),
                kVersion);
  }
  CostModel model;
  model.file_ = name;
  SHUNT_TRY(for_each_entry(json, name, "ops", [&](Entry entry) -> Status {
    SHUNT_ASSIGN(OpCost cost, read_op(std::move(entry)));
    model.add(std::move(cost));
    return ok();
  }));
  SHUNT_TRY(for_each_entry(json, name, "copies", [&](Entry entry) -> Status {
    SHUNT_ASSIGN(CopyCost cost, read_copy(std::move(entry)));
    model.add(std::move(cost));
    return ok();
  }));
  return model;
}

Result<CostModel> CostModel::load(const std::string& path) {
  SHUNT_ASSIGN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string CostModel::to_text() const {
  Json json = {{"format", kFormat}, {"version", kVersion}};
  json["ops"] = Json::array();
  for (const OpCost& cost : ops_) {
    json["ops"].push_back({{"device", cost.device},
                           {"description", cost.description},
                           {"op", cost.op},
                           {"dtype", to_string(cost.dtype)},
                           {"overhead", cost.overhead},
                           {"seconds_per_operation", cost.seconds_per_operation},
                           {"seconds_per_byte", cost.seconds_per_byte},
                           {"unpack_seconds_per_byte", cost.unpack_seconds_per_byte},
                           {"few_seconds_per_operation", cost.few_seconds_per_operation}});
  }
  json["copies"] = Json::array();
  for (const CopyCost& cost : copies_) {
    json["copies"].push_back({{"device", cost.device},
                              {"description", cost.description},
                              {"direction", cost.to_device ? "to device" : "from device"},
                              {"latency", cost.cost.latency},
                              {"seconds_per_byte", cost.cost.seconds_per_byte}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status CostModel::save(const std::string& path) const {
  const Status written = write_file(path, to_text(), WriteTo::kAnything);
  if (!written) return fail(ErrorCode::kIo, "{}", written.error().message());
  return ok();
}

}  // namespace shunt
