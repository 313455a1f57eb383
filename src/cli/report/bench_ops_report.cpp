#include <fmt/format.h>

#include <span>

#include "cli/report/bench_reports.h"
#include "cli/report/rates.h"
#include "cli/report/table.h"

namespace shunt::cli {
namespace {

double rate(double amount, const OpTime& measured) {
  return measured.seconds > 0 ? amount / measured.seconds : 0;
}

Table table_of(std::span<const OpTime> all) {
  Table table({{"op", false},
               {"type", false},
               {"shape", false},
               {"us"},
               {"Gop/s"},
               {"GB/s"},
               {"share"},
               {"of", false}});
  for (const OpTime& each : all) {
    table.add({std::string(each.op), std::string(to_string(each.dtype)), each.shape,
               fmt::format("{:.1f}", each.seconds * 1e6),
               fmt::format("{:.1f}", rate(each.operations, each) * 1e-9),
               fmt::format("{:.1f}", rate(each.bytes, each) * 1e-9), format_share(each.share()),
               each.bound ? std::string(to_string(each.bound->peak)) : "-"});
  }
  return table;
}

Json json_of(const OpsBenchReport& report) {
  const DeviceInfo& device = report.device;
  Json json = {{"device", device.name}, {"description", device.description}};
  json["peaks"] = report.peaks ? peaks_json(*report.peaks) : Json();
  json["ops"] = Json::array();
  for (const OpTime& each : report.ops) {
    Json op = {{"op", each.op},
               {"type", to_string(each.dtype)},
               {"shape", each.shape},
               {"seconds", each.seconds},
               {"operations_per_second", rate(each.operations, each)},
               {"bytes_per_second", rate(each.bytes, each)}};
    op["share"] = each.bound ? Json(each.share()) : Json();
    op["bound"] = each.bound ? Json(to_string(each.bound->peak)) : Json();
    json["ops"].push_back(std::move(op));
  }
  return json;
}

}  // namespace

std::string to_text(const OpsBenchReport& report, BenchFormat format) {
  if (format == BenchFormat::kJson) return to_text(json_of(report));
  const bool is_markdown = format == BenchFormat::kMarkdown;
  std::string text = fmt::format("{}: {}\n", report.device.name, report.device.description);
  if (report.peaks) {
    text += fmt::format("{}limits: {}\n", is_markdown ? "\n" : "", to_line(*report.peaks));
  }
  const Table table = table_of(report.ops);
  return text + (is_markdown ? "\n" + table.markdown() : table.plain());
}

}  // namespace shunt::cli
