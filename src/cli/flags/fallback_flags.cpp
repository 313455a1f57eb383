#include "cli/flags/fallback_flags.h"

#include "cli/flags/parse_units.h"
#include "cli/terminal/output.h"
#include "shunt/message.h"

namespace shunt::cli {
namespace {

template <class Mode>
struct Named {
  std::string_view name;
  Mode mode;
};
constexpr Named<FallbackMode> kFallbackModes[] = {
    {"allow", FallbackMode::kAllow}, {"warn", FallbackMode::kWarn}, {"deny", FallbackMode::kDeny}};
constexpr Named<DeviceErrorMode> kDeviceErrorModes[] = {{"fail", DeviceErrorMode::kFail},
                                                        {"fallback", DeviceErrorMode::kFallback}};

template <class Mode, std::size_t n>
Status read_mode(const std::string& text, const Named<Mode> (&modes)[n], Mode& mode) {
  std::string names;
  for (const Named<Mode>& each : modes) {
    if (each.name == text) {
      mode = each.mode;
      return ok();
    }
    if (!names.empty()) names += &each == &modes[n - 1] ? " or " : ", ";
    names += each.name;
  }
  return invalid("\"{}\" is not {}", text, names);
}

}  // namespace

void FallbackFlags::declare(Arguments& arguments) {
  arguments.value(
      "--fallback", "MODE",
      "Set the reaction to ops that fall back from a preferred device to another one: allow, warn "
      "(print one line) or deny (fail) (default warn)",
      [this](const std::string& text) { return read_mode(text, kFallbackModes, policy_.mode); });
  arguments.value(
      "--max-cpu-time", "PERCENT",
      "Limit the share of a step's predicted time that falls back to the CPU, such as 10%. "
      "Where times are unknown it is a share of the ops",
      [this](const std::string& text) -> Status {
        SHUNT_ASSIGN(policy_.max_cpu_share, parse_percent(text));
        return ok();
      });
  arguments.value("--max-copy", "BYTES",
                  "Limit the bytes that a step copies between devices, such as 4MiB",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(policy_.max_copy_bytes, parse_bytes(text));
                    return ok();
                  });
}

void DeviceErrorFlag::declare(Arguments& arguments) {
  arguments.value(
      "--on-device-error", "MODE",
      "Set the reaction to a failed device: fail, or fallback (continue without it and print a "
      "line) (default fail)",
      [this](const std::string& text) { return read_mode(text, kDeviceErrorModes, policy_.mode); });
}

DeviceErrorPolicy DeviceErrorFlag::policy() const {
  DeviceErrorPolicy policy = policy_;
  policy.log = [](std::string_view line) { print_message(line); };
  return policy;
}

FallbackPolicy FallbackFlags::policy() const {
  FallbackPolicy policy = policy_;
  policy.log = [](std::string_view line) { print_message(line); };
  return policy;
}

}  // namespace shunt::cli
