// Whether the fallbacks are acceptable.
#include "schedule/explain/fallback.h"
#include "shunt/explain.h"
#include "shunt/message.h"

namespace shunt {

namespace {

constexpr std::size_t kMostListed = 20;  // kinds of operations in one message

/// "5 silu (test0 has no kernel for silu), 2 rope (...)".
std::string list_fallbacks(const FallbackReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.fallbacks.size() && i < kMostListed; ++i) {
    const Fallback& fallback = report.fallbacks[i];
    text += fmt::format("{}{} {} ({}{})", i == 0 ? "" : ", ", fallback.nodes.size(), fallback.op,
                        fallback.reason,
                        fallback.remedy.empty() ? "" : fmt::format(": see {}", fallback.remedy));
  }
  if (report.fallbacks.size() > kMostListed) {
    text += " and " + counted(report.fallbacks.size() - kMostListed, "more kind");
  }
  return text;
}

Status check_limits(const Graph& graph, const FallbackReport& report,
                    const FallbackPolicy& policy) {
  if (report.fell_back > 0 && policy.mode == FallbackMode::kDeny) {
    const std::string first = graph.describe(report.fallbacks.front().nodes.front());
    return fail(ErrorCode::kUnsupported,
                "{} of {} operations would run on {}, which is denied; the first is {}: {}; {}, or "
                "--fallback warn",
                report.fell_back, report.operations, fallback_devices(report), first,
                list_fallbacks(report), fallback_remedies(report))
        .with_node(first);
  }
  if (policy.max_cpu_share && report.cpu_share > *policy.max_cpu_share) {
    return fail(ErrorCode::kUnsupported,
                "{:.1f}% of the {} would fall back to the CPU; at most {:.1f}% may: {}",
                report.cpu_share * 100, report.share_of_time ? "predicted time" : "operations",
                *policy.max_cpu_share * 100, list_fallbacks(report));
  }
  if (policy.max_copy_bytes && report.bytes_copied > *policy.max_copy_bytes) {
    return fail(ErrorCode::kUnsupported,
                "{} bytes would be copied between devices in a step; at most {} may{}{}",
                report.bytes_copied, *policy.max_copy_bytes, report.fallbacks.empty() ? "" : ": ",
                list_fallbacks(report));
  }
  return ok();
}

}  // namespace

Status apply_fallback_policy(const Graph& graph, const Placement& placement,
                             const FallbackPolicy& policy) {
  for (const std::string& note : placement.notes) {
    if (policy.log) policy.log(note);
  }
  if (placement.devices.size() < 2) return ok();  // there is nothing to fall back from
  const FallbackReport report = report_fallback(graph, placement);
  SHUNT_TRY(check_limits(graph, report, policy));
  const std::string line = to_line(report);
  if (!line.empty() && policy.log && policy.mode == FallbackMode::kWarn) policy.log(line);
  return ok();
}

}  // namespace shunt
