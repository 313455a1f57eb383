#include "schedule/explain/fallback.h"

#include <algorithm>
#include <array>

#include "base/enum_table.h"
#include "device/device_set.h"
#include "graph/op.h"
#include "graph/storage_users.h"
#include "schedule/memory/homes.h"
#include "schedule/plan/segments.h"
#include "shunt/explain.h"
#include "shunt/message.h"

namespace shunt {

const RejectedCandidate* fallback_cause(const Placement& placement, NodeId node) {
  const DeviceSpan<Device* const> devices(placement.devices);
  for (const RejectedCandidate& passed : placement.decisions[node].rejected) {
    Device& device = *devices[passed.device];
    if (passed.refusal != Refusal::kCost && &device.memory() != &host_memory()) return &passed;
  }
  return nullptr;
}

namespace {

/// The change that would avoid a refusal, by Refusal.
std::string_view remedy(Refusal refusal) {
  static constexpr std::array<std::string_view, 8> kRemedies = {
      "a kernel for it",
      "a type that the device computes with",
      "another shape",
      "another layout",
      "other parameters of the operation",
      "a vendor library that has the function",
      "more free memory, or a smaller context or batch",
      "other costs",
  };
  return name_in(kRemedies, refusal, "another device");
}

Fallback& group_of(std::vector<Fallback>& groups, std::string_view op,
                   const RejectedCandidate& cause, int instead) {
  for (Fallback& group : groups) {
    if (group.op == op && group.refused_by == cause.device && group.instead == instead &&
        group.refusal == cause.refusal && group.reason == cause.reason) {
      return group;
    }
  }
  Fallback& group = groups.emplace_back();
  group.op = op;
  group.refused_by = cause.device;
  group.instead = instead;
  group.refusal = cause.refusal;
  group.reason = cause.reason;
  group.remedy = cause.remedy;
  return group;
}

std::uint64_t copied_bytes(const Graph& graph, const Placement& placement) {
  const SegmentedGraph cut =
      cut_segments(graph, placement, graph.outputs(), memory_types(graph, placement));
  std::uint64_t bytes = 0;
  for (const Copy& copy : cut.copies) bytes += copy.bytes;
  return bytes;
}

/// "cuda0 and cpu0", of devices by index, each once, in order.
std::string list_devices(const FallbackReport& report, int Fallback::*which) {
  const DeviceSpan<const std::string> names(report.devices);
  PerDevice<bool> named(names.size(), false);
  for (const Fallback& fallback : report.fallbacks) named[fallback.*which] = true;
  std::string text;
  for (const DeviceIndex i : named.indices()) {
    if (named[i]) text += (text.empty() ? "" : " and ") + names[i];
  }
  return text;
}

/// Where the first one needs other hardware or software, but an option would help others.
std::string other_remedy(const FallbackReport& report) {
  if (!report.fallbacks.front().remedy.empty()) return {};
  std::string_view option;
  std::size_t nodes = 0;
  for (const Fallback& fallback : report.fallbacks) {
    if (option.empty()) option = fallback.remedy;
    if (!option.empty() && fallback.remedy == option) nodes += fallback.nodes.size();
  }
  return option.empty() ? std::string()
                        : fmt::format(", and {} for {}", option, counted(nodes, "other"));
}

}  // namespace

FallbackReport report_fallback(const Graph& graph, const Placement& placement) {
  FallbackReport report;
  for (Device* device : placement.devices) report.devices.emplace_back(device->name());
  const DeviceIndex cpu = DeviceIndices(placement.devices.size()).cpu();
  report.share_of_time = placement.predicted_seconds > 0;
  double all = 0;
  double on_cpu = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_computed(node)) continue;
    ++report.operations;
    const double weight = report.share_of_time ? placement.decisions[id].seconds : 1;
    all += weight;
    const RejectedCandidate* cause = fallback_cause(placement, id);
    if (cause == nullptr) continue;
    const int instead = placement.decisions[id].device;
    ++report.fell_back;
    if (instead == cpu) on_cpu += weight;
    group_of(report.fallbacks, node.op->info().name, *cause, instead).nodes.push_back(id);
  }
  if (all > 0) report.cpu_share = on_cpu / all;
  report.bytes_copied = copied_bytes(graph, placement);
  return report;
}

std::string fallback_devices(const FallbackReport& report) {
  return fmt::format("{} instead of {}", list_devices(report, &Fallback::instead),
                     list_devices(report, &Fallback::refused_by));
}

std::string fallback_remedies(const FallbackReport& report) {
  const Fallback& first = report.fallbacks.front();
  return fmt::format("{} would change that{}",
                     first.remedy.empty() ? remedy(first.refusal) : std::string_view(first.remedy),
                     other_remedy(report));
}

std::string to_line(const FallbackReport& report) {
  if (report.fallbacks.empty()) return {};
  const Fallback& first = report.fallbacks.front();
  return fmt::format(
      "{} of {} operations run on {}; the first is {}: {}; {} (shunt explain shows all)",
      report.fell_back, report.operations, fallback_devices(report), first.op, first.reason,
      fallback_remedies(report));
}

}  // namespace shunt
