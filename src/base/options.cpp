#include "shunt/options.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/fail.h"

namespace shunt {

namespace {

Result<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid("\"{}\" is not a number of at least 0", text);
  }
  return value;
}

Status set_threads(Options& options, std::string_view text) {
  SHUNT_ASSIGN(options.threads, parse_count(text));
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

Status set_cpu_level(Options& options, std::string_view text) {
  options.cpu_level = text;
  return ok();
}

Status set_cpu_fuse(Options& options, std::string_view text) {
  if (text != "on" && text != "off") return invalid("\"{}\" is not on or off", text);
  options.cpu_fuse = text == "on";
  return ok();
}

Status set_out_of_range(Options& options, std::string_view text) {
  SHUNT_ASSIGN(options.out_of_range, parse_out_of_range(text));
  return ok();
}

constexpr std::array kTable = {
    OptionInfo{"SHUNT_THREADS", "threads of the CPU device; 0: one a physical core", set_threads},
    OptionInfo{"SHUNT_PIN", "whether threads are bound to a core each: auto, on, off", set_pin},
    OptionInfo{"SHUNT_BACKEND_PATH", "folders with backend plugins, separated by ':'",
               set_backend_path},
    OptionInfo{"SHUNT_CPU_LEVEL", "highest vector level of the CPU kernels, e.g. scalar",
               set_cpu_level},
    OptionInfo{"SHUNT_CPU_FUSE", "whether the CPU computes some operations at once: on, off",
               set_cpu_fuse},
    OptionInfo{"SHUNT_OUT_OF_RANGE",
               "what becomes of numbers that a device's format does not have: saturate, exact",
               set_out_of_range},
};

/// SHUNT_ZDNN_LIBRARY=PATH: the one table row of which there are as many as backends, which nobody
/// here knows.
void set_library(Options& options, std::string_view variable) {
  constexpr std::string_view kBefore = "SHUNT_";
  constexpr std::string_view kAfter = "_LIBRARY";
  const std::size_t equals = variable.find('=');
  if (equals == std::string_view::npos) return;
  std::string_view name = variable.substr(0, equals);
  const std::string_view path = variable.substr(equals + 1);
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter) || path.empty()) return;
  if (name.size() <= kBefore.size() + kAfter.size()) return;
  name = name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
  std::string backend;
  for (const char c : name)
    backend += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  options.libraries[backend] = path;
}

}  // namespace

Result<PinThreads> parse_pin_threads(std::string_view text) {
  if (text == "auto") return PinThreads::kAuto;
  if (text == "on") return PinThreads::kOn;
  if (text == "off") return PinThreads::kOff;
  return invalid("\"{}\" is not auto, on or off", text);
}

Result<OutOfRange> parse_out_of_range(std::string_view text) {
  if (text == "saturate") return OutOfRange::kSaturate;
  if (text == "exact") return OutOfRange::kExact;
  return invalid("\"{}\" is not saturate or exact", text);
}

std::span<const OptionInfo> option_table() {
  return kTable;
}

Result<Options> options_from_environment() {
  Options options;
  for (const OptionInfo& row : kTable) {
    const char* text = std::getenv(std::string(row.environment).c_str());
    if (text == nullptr || *text == '\0') continue;
    Status status = row.set(options, text);
    if (!status) return std::move(status.error()).with_context(row.environment);
  }
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    set_library(options, *variable);
  }
  return options;
}

}  // namespace shunt
