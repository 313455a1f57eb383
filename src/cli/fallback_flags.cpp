#include "cli/fallback_flags.h"

#include "base/fail.h"
#include "cli/output.h"
#include "cli/parse_units.h"

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
      "operations that a better device refuses and another one computes: allow, warn (one "
      "line) or deny (default warn)",
      [this](const std::string& text) { return read_mode(text, kFallbackModes, policy_.mode); });
  arguments.value("--max-cpu-time", "PERCENT",
                  "most of a step's time that may fall back to the CPU, such as 10%; of its "
                  "operations where times are not known",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(policy_.max_cpu_share, parse_percent(text));
                    return ok();
                  });
  arguments.value("--max-copy", "BYTES", "most that a step may copy between devices, such as 4MiB",
                  [this](const std::string& text) -> Status {
                    SHUNT_ASSIGN(policy_.max_copy_bytes, parse_bytes(text));
                    return ok();
                  });
}

void DeviceErrorFlag::declare(Arguments& arguments) {
  arguments.value(
      "--on-device-error", "MODE",
      "when a device fails: fail, or fallback: go on without it, with a line (default "
      "fail)",
      [this](const std::string& text) { return read_mode(text, kDeviceErrorModes, policy_.mode); });
}

DeviceErrorPolicy DeviceErrorFlag::policy() const {
  DeviceErrorPolicy policy = policy_;
  policy.say = [](std::string_view line) { say(line); };
  return policy;
}

FallbackPolicy FallbackFlags::policy() const {
  FallbackPolicy policy = policy_;
  policy.say = [](std::string_view line) { say(line); };
  return policy;
}

}  // namespace shunt::cli
