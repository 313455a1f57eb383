// `shunt bench`: measures what ops and copies take on each device.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/runtime_flags.h"
#include "shunt/costs.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

/// "12.3 Gop/s"; nothing where it was not told apart.
std::string rate(double seconds_each, std::string_view unit) {
  return seconds_each > 0 ? fmt::format("{:.1f} {}", 1e-9 / seconds_each, unit) : "-";
}

std::string to_plain_text(const CostModel& costs) {
  std::string text = fmt::format("{:<8} {:<12} {:<6} {:>12} {:>16} {:>14}\n", "device", "op",
                                 "type", "overhead", "arithmetic", "memory");
  for (const OpCost& cost : costs.ops()) {
    text += fmt::format("{:<8} {:<12} {:<6} {:>9.2f} us {:>16} {:>14}\n", cost.device,
                        cost.op == kAnyOp ? "all others" : cost.op, to_string(cost.dtype),
                        cost.overhead * 1e6, rate(cost.seconds_per_operation, "Gop/s"),
                        rate(cost.seconds_per_byte, "GB/s"));
  }
  for (const CopyCost& copy : costs.copies()) {
    text += fmt::format("{:<8} {:<12} {:<6} {:>9.2f} us {:>16} {:>14}\n", copy.device,
                        copy.to_device ? "copy to" : "copy from", "", copy.cost.latency * 1e6, "",
                        rate(copy.cost.seconds_per_byte, "GB/s"));
  }
  return text;
}

class BenchCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "bench", "measure ops and copies on each device, for placement by costs",
        "  shunt bench\n"
        "  shunt bench --save-costs costs.json --devices cpu0"};
    return kInfo;
  }

  void declare(Arguments& arguments) override {
    arguments.file("--save-costs", "write what was measured, as JSON", path_);
    arguments.value("-d,--devices", "LIST", "devices to measure, such as cuda0,cpu0 (default all)",
                    [this](const std::string& text) -> Status {
                      SHUNT_ASSIGN(devices_, split_list(text));
                      return ok();
                    });
    arguments.number("--width", "rows and columns of the largest matrices, a multiple of 64",
                     measure_.width);
    arguments.number("--seconds", "that each measurement takes, about", measure_.seconds, 0.0,
                     60.0);
    runtime_.declare(arguments);
  }

  Status check() override {
    SHUNT_ASSIGN(options_, runtime_.options());
    return check_measure_options(measure_);
  }

  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, Registry::create(options_));
    std::vector<Device*> devices(registry->devices().begin(), registry->devices().end());
    if (!devices_.empty()) {
      devices.clear();
      for (const std::string& name : devices_) {
        SHUNT_ASSIGN(Device * device, registry->find(name));
        devices.push_back(device);
      }
    }
    SHUNT_ASSIGN(const Measured measured, measure_costs(devices, measure_));
    for (const std::string& note : measured.notes) say(note);
    if (path_) SHUNT_TRY(measured.costs.save(*path_));
    output.write(to_plain_text(measured.costs));
    return ok();
  }

 private:
  std::optional<std::string> path_;
  std::vector<std::string> devices_;
  MeasureOptions measure_;
  RuntimeFlags runtime_;
  Options options_;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() {
  return std::make_unique<BenchCommand>();
}

}  // namespace shunt::cli
