#include "cli/report/rates.h"

#include <fmt/format.h>

namespace shunt::cli {

std::string format_rate(Peak peak, double per_second) {
  return fmt::format("{:.1f} {}", per_second * 1e-9, peak == Peak::kRead ? "GB/s" : "Gop/s");
}

std::string format_share(double share) {
  return share > 0 ? fmt::format("{:.1f}%", share * 100) : "-";
}

std::string to_line(const DevicePeaks& peaks) {
  std::string line;
  for (const Peak peak : kPeaks) {
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", to_string(peak),
                        format_rate(peak, peaks[peak].per_second));
  }
  return line;
}

Json peaks_json(const DevicePeaks& peaks) {
  Json json;
  json["threads"] = peaks.threads;
  for (const Peak peak : kPeaks) {
    const PeakRate& rate = peaks[peak];
    json[std::string(to_string(peak))] = {
        {"per_second", rate.per_second}, {"unit", rate.unit}, {"stands_in", rate.stands_in}};
  }
  return json;
}

}  // namespace shunt::cli
