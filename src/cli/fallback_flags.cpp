#include "cli/fallback_flags.h"

#include "base/fail.h"
#include "cli/output.h"
#include "cli/parse_units.h"

namespace shunt::cli {
namespace {

Status read_mode(const std::string& text, FallbackMode& mode) {
  struct Named {
    std::string_view name;
    FallbackMode mode;
  };
  static constexpr Named kModes[] = {{"allow", FallbackMode::kAllow},
                                     {"warn", FallbackMode::kWarn},
                                     {"deny", FallbackMode::kDeny}};
  for (const Named& each : kModes) {
    if (each.name != text) continue;
    mode = each.mode;
    return ok();
  }
  return invalid("\"{}\" is not allow, warn or deny", text);
}

}  // namespace

void FallbackFlags::declare(Arguments& arguments) {
  arguments.value(
      "--fallback", "MODE",
      "what a better device refuses and another one computes: allow, warn (one line) or "
      "deny (default warn)",
      [this](const std::string& text) { return read_mode(text, policy_.mode); });
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

FallbackPolicy FallbackFlags::policy() const {
  FallbackPolicy policy = policy_;
  policy.say = [](std::string_view line) { say(line); };
  return policy;
}

}  // namespace shunt::cli
