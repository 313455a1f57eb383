#include "device/backend_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::string_view kEveryBackend = "*";
constexpr int kMostSeconds = 1000000;
/// SHUNT_<BACKEND>_LIBRARY has another meaning.
constexpr std::string_view kReserved = "library";

bool is_plain_name(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_lower(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_lower(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

template <int (*convert)(int)>
std::string converted(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(convert(static_cast<unsigned char>(c)));
  return result;
}

/// "SHUNT_CPU_"; with a name of an option behind it, the variable of that option.
std::string variable_prefix(std::string_view backend) {
  return "SHUNT_" + converted<std::toupper>(backend) + "_";
}

const BackendOption* find_option(const BackendOptions& backend, std::string_view name) {
  const auto found = std::ranges::find(backend.table, name, &BackendOption::name);
  return found == backend.table.end() ? nullptr : &*found;
}

std::string names_of_options(const BackendOptions& backend) {
  std::vector<std::string_view> names;
  for (const BackendOption& row : backend.table) names.push_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "backends with options: cpu (level, fuse), zdnn (out_of_range)".
std::string backends_with_options(std::span<const BackendOptions> backends) {
  std::string text;
  for (const BackendOptions& each : backends) {
    if (each.table.empty()) continue;
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", each.backend, names_of_options(each));
  }
  return text.empty() ? "no backend has options" : "backends with options: " + text;
}

Error unknown_option(const BackendOptions& backend, std::string_view name) {
  if (backend.table.empty()) {
    return invalid("the backend {} has no options, so no \"{}\"", backend.backend, name);
  }
  return invalid("the backend {} has no option \"{}\"; its options: {}", backend.backend, name,
                 names_of_options(backend));
}

Status check_value(const BackendOption& option, std::string_view value, std::string_view setting) {
  Status status = option.check(value);
  if (!status) return std::move(status.error()).with_context(setting);
  return ok();
}

Status check_setting(std::string_view backend, std::string_view name, std::string_view value,
                     std::span<const BackendOptions> backends) {
  const std::string setting = fmt::format("{}.{}", backend, name);
  const bool every = backend == kEveryBackend;
  bool known = false;
  bool checked = false;
  for (const BackendOptions& each : backends) {
    if (!every && each.backend != backend) continue;
    known = true;
    const BackendOption* const option = find_option(each, name);
    if (option == nullptr && !every) {
      return std::move(unknown_option(each, name)).with_context(setting);
    }
    if (option == nullptr) continue;
    SHUNT_TRY(check_value(*option, value, setting));
    checked = true;
  }
  if (every && !checked) {
    return invalid("{}: no backend has an option \"{}\"; {}", setting, name,
                   backends_with_options(backends));
  }
  if (!known) {
    return invalid("{}: there is no backend \"{}\"; {}", setting, backend,
                   backends_with_options(backends));
  }
  return ok();
}

/// The backend of the longest name that the variable begins with; null if there is none.
const BackendOptions* backend_of_variable(std::string_view variable,
                                          std::span<const BackendOptions> backends) {
  const BackendOptions* found = nullptr;
  for (const BackendOptions& each : backends) {
    if (!variable.starts_with(variable_prefix(each.backend))) continue;
    if (found == nullptr || each.backend.size() > found->backend.size()) found = &each;
  }
  return found;
}

Status check_variable(const std::string& variable, std::string_view value,
                      std::span<const BackendOptions> backends) {
  for (const BackendOptions& each : backends) {
    for (const BackendOption& row : each.table) {
      if (row.also == variable) return check_value(row, value, variable);
    }
  }
  const BackendOptions* const backend = backend_of_variable(variable, backends);
  if (backend == nullptr) return ok();  // of something else
  const std::string name =
      converted<std::tolower>(variable.substr(variable_prefix(backend->backend).size()));
  const BackendOption* const option = find_option(*backend, name);
  if (option == nullptr) return std::move(unknown_option(*backend, name)).with_context(variable);
  return check_value(*option, value, variable);
}

/// Overrides `value` if the map has the key.
template <class Key>
void override_with(std::string& value, const std::map<std::string, std::string>& map,
                   const Key& key) {
  if (const auto found = map.find(std::string(key)); found != map.end()) value = found->second;
}

}  // namespace

Status check_word(std::string_view text, std::initializer_list<std::string_view> words) {
  if (std::ranges::find(words, text) != words.end()) return ok();
  return invalid("\"{}\" is not {}", text, fmt::join(words, " or "));
}

Status check_on_off(std::string_view text) {
  return check_word(text, {"on", "off"});
}

int parse_whole(std::string_view text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return number <= most ? std::max(number, 0) : 0;
}

Status check_whole(std::string_view text, int most) {
  if (parse_whole(text, most) > 0) return ok();
  return invalid("\"{}\" is not a whole number from 1 to {}", text, most);
}

Status check_timeout(std::string_view text) {
  if (parse_whole(text, kMostSeconds) > 0) return ok();
  return invalid("\"{}\" is not a whole number of seconds from 1 to {}", text, kMostSeconds);
}

std::chrono::milliseconds parse_timeout(std::string_view text) {
  return std::chrono::seconds(parse_whole(text, kMostSeconds));
}

Status check_option_table(std::span<const BackendOption> table) {
  std::set<std::string_view> names;
  for (const BackendOption& row : table) {
    if (!is_plain_name(row.name)) {
      return invalid("its option \"{}\" has a name that is not [a-z][a-z0-9_]*", row.name);
    }
    // SHUNT_CUDA_MATH_LIBRARY is the path of a library of a backend "cuda_math".
    if (row.name == kReserved || row.name.ends_with("_library")) {
      return invalid("its option \"{}\" has a name that is reserved", row.name);
    }
    if (!names.insert(row.name).second) {
      return invalid("it has two options \"{}\"", row.name);
    }
    if (row.check == nullptr) return invalid("its option \"{}\" has no check", row.name);
    if (Status status = row.check(row.default_value); !status) {
      return invalid("the default of its option \"{}\" is refused: {}", row.name,
                     status.error().message());
    }
  }
  return ok();
}

Status check_entry(const BackendEntry& entry) {
  if (entry.name == nullptr) return invalid("its entry has no name");
  if (!is_plain_name(entry.name)) {
    return invalid("its name \"{}\" is not [a-z][a-z0-9_]*", entry.name);
  }
  if (entry.create == nullptr) return invalid("its entry has no function that creates the backend");
  return check_option_table(entry.options);
}

std::string variable_of(std::string_view backend, std::string_view option) {
  return variable_prefix(backend) + converted<std::toupper>(option);
}

Status check_settings(const Options& options, std::span<const BackendOptions> backends) {
  for (const auto& [backend, settings] : options.backend_options) {
    for (const auto& [name, value] : settings) {
      SHUNT_TRY(check_setting(backend, name, value, backends));
    }
  }
  for (const auto& [variable, value] : options.environment) {
    SHUNT_TRY(check_variable(variable, value, backends));
  }
  return ok();
}

std::map<std::string, std::string> settings_of(const Options& options,
                                               const BackendOptions& backend) {
  std::map<std::string, std::string> settings;
  for (const BackendOption& row : backend.table) {
    std::string& value = settings[std::string(row.name)];
    value = row.default_value;
    if (!row.also.empty()) override_with(value, options.environment, row.also);
    override_with(value, options.environment, variable_of(backend.backend, row.name));
    for (const std::string_view from : {kEveryBackend, backend.backend}) {
      const auto found = options.backend_options.find(std::string(from));
      if (found != options.backend_options.end()) override_with(value, found->second, row.name);
    }
  }
  return settings;
}

std::string_view backend_option(const Options& options, std::string_view backend,
                                std::string_view option) {
  const auto settings = options.backend_options.find(std::string(backend));
  if (settings == options.backend_options.end()) return {};
  const auto found = settings->second.find(std::string(option));
  return found == settings->second.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace shunt
