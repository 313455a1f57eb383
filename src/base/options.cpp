#include "shunt/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "shunt/message.h"

namespace shunt {

namespace {

Status set_threads(Options& options, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
      value > kMaxThreads) {
    return invalid("\"{}\" is not a number from 0 to {}", text, kMaxThreads);
  }
  options.threads = value;
  return ok();
}

Status set_pin(Options& options, std::string_view text) {
  SHUNT_ASSIGN(options.pin_threads, parse_pin_threads(text));
  return ok();
}

Status set_backend_path(Options& options, std::string_view text) {
  options.backend_path = text;
  return ok();
}

constexpr std::array kTable = {
    OptionInfo{"SHUNT_THREADS", "threads of the CPU device; 0: one per physical core", set_threads},
    OptionInfo{"SHUNT_PIN", "bind each thread to a core: auto, on, off", set_pin},
    OptionInfo{"SHUNT_BACKEND_PATH", "folders with backend plugins, separated by ':'",
               set_backend_path},
};

constexpr std::string_view kPrefix = "SHUNT_";
constexpr std::string_view kLibrary = "_LIBRARY";

/// "ZDNN" of SHUNT_ZDNN_LIBRARY, in lower case; empty if the variable has no such name.
std::string backend_of_library(std::string_view variable) {
  if (!variable.ends_with(kLibrary) || variable.size() <= kPrefix.size() + kLibrary.size()) {
    return "";
  }
  std::string backend(
      variable.substr(kPrefix.size(), variable.size() - kPrefix.size() - kLibrary.size()));
  for (char& c : backend) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return backend;
}

bool is_in_table(std::string_view variable) {
  return std::any_of(kTable.begin(), kTable.end(),
                     [&](const OptionInfo& row) { return row.environment == variable; });
}

/// Variables that name a backend. Which backends there are is unknown here.
void keep_variable_of_backend(Options& options, std::string_view definition) {
  const std::size_t equals = definition.find('=');
  if (equals == std::string_view::npos || equals + 1 == definition.size()) return;
  const std::string_view name = definition.substr(0, equals);
  const std::string_view value = definition.substr(equals + 1);
  if (!name.starts_with(kPrefix) || is_in_table(name)) return;
  if (const std::string backend = backend_of_library(name); !backend.empty()) {
    options.libraries[backend] = value;
  } else if (name.find('_', kPrefix.size()) != std::string_view::npos) {
    options.environment[std::string(name)] = value;
  }
}

/// The value of a variable that is an absolute path. The specification ignores other values.
std::string absolute_path(const char* variable) {
  const char* text =
      std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): no thread here sets variables
  return text != nullptr && *text == '/' ? text : "";
}

std::string cache_folder() {
  const std::string cache = absolute_path("XDG_CACHE_HOME");
  if (!cache.empty()) return cache + "/shunt";
  const std::string home = absolute_path("HOME");
  return home.empty() ? "" : home + "/.cache/shunt";
}

}  // namespace

Result<PinThreads> parse_pin_threads(std::string_view text) {
  if (text == "auto") return PinThreads::kAuto;
  if (text == "on") return PinThreads::kOn;
  if (text == "off") return PinThreads::kOff;
  return invalid("\"{}\" is not auto, on or off", text);
}

std::span<const OptionInfo> option_table() {
  return kTable;
}

Result<Options> options_from_environment() {
  Options options;
  for (const OptionInfo& row : kTable) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread here sets variables
    const char* text = std::getenv(std::string(row.environment).c_str());
    if (text == nullptr || *text == '\0') continue;
    Status status = row.set(options, text);
    if (!status) return std::move(status.error()).with_context(row.environment);
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    keep_variable_of_backend(options, *variable);
  }
  options.cache_folder = cache_folder();
  return options;
}

}  // namespace shunt
