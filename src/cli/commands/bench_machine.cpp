#include "cli/commands/bench_machine.h"

#include <fmt/format.h>

#include "cli/report/rates.h"
#include "cli/report/table.h"
#include "shunt/peaks.h"

namespace shunt::cli {
namespace {

struct MeasuredDevice {
  DeviceInfo info;
  std::vector<DevicePeaks> peaks;
};

Result<MeasuredDevice> measure(Device& device, double seconds) {
  MeasuredDevice measured{device.info(), {}};
  SHUNT_ASSIGN(const auto all, device.open_peak_meter(0));
  for (const int count : thread_counts(all->threads())) {
    SHUNT_ASSIGN(const auto meter, device.open_peak_meter(count));
    SHUNT_ASSIGN(DevicePeaks peaks, measure_peaks(*meter, seconds));
    measured.peaks.push_back(std::move(peaks));
  }
  return measured;
}

/// The unit behind each peak rate is the same for all numbers of threads.
std::string units(const MeasuredDevice& device) {
  std::string text;
  for (const Peak peak : kPeaks) {
    const PeakRate& rate = device.peaks.front()[peak];
    text += fmt::format("{}: {}{}\n", to_string(peak), rate.unit,
                        rate.stands_in
                            ? ", a substitute: the device has no unit for this peak, or none "
                              "that kernels use"
                            : "");
  }
  return text;
}

std::string text_of(const MeasuredDevice& device, BenchFormat format) {
  Table table({{"threads"}, {"read GB/s"}, {"int8 Gop/s"}, {"bf16 Gop/s"}, {"F32 Gop/s"}});
  for (const DevicePeaks& peaks : device.peaks) {
    std::vector<std::string> cells = {fmt::format("{}", peaks.threads)};
    for (const Peak peak : kPeaks) {
      cells.push_back(fmt::format("{:.1f}", peaks[peak].per_second * 1e-9));
    }
    table.add(std::move(cells));
  }
  const bool is_markdown = format == BenchFormat::kMarkdown;
  const std::string gap = is_markdown ? "\n" : "";
  return fmt::format("{}: {}\n{}{}{}{}", device.info.name, device.info.description, gap,
                     is_markdown ? table.markdown() : table.plain(), gap, units(device));
}

Json to_json(const MeasuredDevice& device) {
  Json json = {{"device", device.info.name}, {"description", device.info.description}};
  json["peaks"] = Json::array();
  for (const DevicePeaks& peaks : device.peaks) json["peaks"].push_back(peaks_json(peaks));
  return json;
}

}  // namespace

Status bench_machine(std::span<Device* const> devices, double seconds, BenchFormat format,
                     Output& output) {
  Json json = Json::array();
  std::optional<Error> refused;
  bool is_measured = false;
  for (Device* device : devices) {
    const DeviceInfo info = device->info();
    if (info.kind == DeviceKind::kNull) continue;
    if (info.twin) {
      print_message(
          fmt::format("{} is not measured: it is a twin, and the times of an emulator mean nothing",
                      info.name));
      continue;
    }
    auto measured = measure(*device, seconds);
    if (!measured && measured.error().code() != ErrorCode::kUnsupported) return measured.error();
    if (!measured) {
      print_message(measured.error().message());
      refused = std::move(measured.error());
      continue;
    }
    is_measured = true;
    if (format == BenchFormat::kJson) {
      json.push_back(to_json(*measured));
    } else {
      output.write(text_of(*measured, format));
    }
  }
  if (!is_measured && refused) return *refused;
  if (format == BenchFormat::kJson) output.write(to_text(json));
  return ok();
}

}  // namespace shunt::cli
