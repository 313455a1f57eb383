#include "cli/report/cost_table.h"

#include <fmt/format.h>

namespace shunt::cli {
namespace {

/// "12.3 Gop/s"; "-" where it was not separated from other costs.
std::string rate(double seconds_each, std::string_view unit) {
  return seconds_each > 0 ? fmt::format("{:.1f} {}", 1e-9 / seconds_each, unit) : "-";
}

constexpr std::string_view kLine = "{:<8} {:<12} {:<6} {:>12} {:>16} {:>16} {:>14} {:>14}\n";

}  // namespace

std::string cost_table(const CostModel& costs) {
  const auto overhead = [](double seconds) { return fmt::format("{:.2f} us", seconds * 1e6); };
  std::string text = fmt::format(kLine, "device", "op", "type", "overhead", "many columns",
                                 "few columns", "memory", "dequantizing");
  for (const OpCost& cost : costs.ops()) {
    text += fmt::format(
        kLine, cost.device, cost.op == kAnyOp ? "all others" : cost.op, to_string(cost.dtype),
        overhead(cost.overhead), rate(cost.seconds_per_operation, "Gop/s"),
        rate(cost.few_seconds_per_operation, "Gop/s"), rate(cost.seconds_per_byte, "GB/s"),
        rate(cost.unpack_seconds_per_byte, "GB/s"));
  }
  for (const CopyCost& copy : costs.copies()) {
    text += fmt::format(kLine, copy.device, copy.to_device ? "copy to" : "copy from", "",
                        overhead(copy.cost.latency), "", "",
                        rate(copy.cost.seconds_per_byte, "GB/s"), "");
  }
  return text;
}

}  // namespace shunt::cli
