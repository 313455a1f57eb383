// `shunt devices`: the devices of this machine, and the backends that are off.
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/flags/runtime_flags.h"
#include "cli/report/json.h"
#include "cli/report/sizes.h"
#include "cli/report/table.h"
#include "shunt/registry.h"

namespace shunt::cli {
namespace {

/// Empty if there is none.
std::string name_of_cpu(const Registry& registry) {
  for (const Device* device : registry.devices()) {
    if (device->info().kind == DeviceKind::kCpu) return std::string(device->name());
  }
  return "";
}

/// `cpu`: its name.
std::string memory_of(const Device& device, const std::string& cpu) {
  const DeviceInfo info = device.info();
  std::string text;
  if (info.memory_total > 0) {
    text = fmt::format(", {} of {} free", format_bytes(device.memory_free()),
                       format_bytes(info.memory_total));
  }
  if (info.host_memory && info.kind != DeviceKind::kCpu && !cpu.empty())
    text += ", unified memory with " + cpu;
  return text;
}

std::string to_plain_text(const Registry& registry) {
  std::string text = "devices\n";
  const std::string cpu = name_of_cpu(registry);
  for (const Device* device : registry.devices()) {
    const DeviceInfo info = device->info();
    text += fmt::format("  {:<8} {:<12} {}{}{}\n", info.name, to_string(info.kind),
                        info.description, memory_of(*device, cpu),
                        info.twin ? " (a twin: an emulator of the hardware)" : "");
  }
  text += "backends\n";
  for (const BackendStatus& backend : registry.backends()) {
    text += fmt::format("  {:<8} {:<12} {}{}{}\n", backend.name, backend.loaded ? "on" : "off",
                        backend.origin, backend.note.empty() ? "" : ": ", backend.note);
  }
  return text;
}

std::string options_as_text(const Registry& registry) {
  Table table({{"option", false},
               {"value", false},
               {"default", false},
               {"variable", false},
               {"meaning", false}});
  for (const BackendStatus& backend : registry.backends()) {
    for (const OptionStatus& option : backend.options) {
      table.add({backend.name + "." + option.name, option.value, option.default_value,
                 option.variable, option.help});
    }
  }
  return table.plain();
}

Json options_as_json(const BackendStatus& backend) {
  Json list = Json::array();
  for (const OptionStatus& option : backend.options) {
    list.push_back({{"name", option.name},
                    {"value", option.value},
                    {"default", option.default_value},
                    {"variable", option.variable},
                    {"help", option.help}});
  }
  return list;
}

std::string to_json(const Registry& registry) {
  Json json;
  json["devices"] = Json::array();
  for (const Device* device : registry.devices()) {
    const DeviceInfo info = device->info();
    json["devices"].push_back({{"name", info.name},
                               {"description", info.description},
                               {"kind", to_string(info.kind)},
                               {"priority", info.priority},
                               {"memory_total", info.memory_total},
                               {"memory_free", device->memory_free()},
                               {"host_memory", info.host_memory},
                               {"asynchronous", info.asynchronous},
                               {"twin", info.twin}});
  }
  json["backends"] = Json::array();
  for (const BackendStatus& backend : registry.backends()) {
    json["backends"].push_back({{"name", backend.name},
                                {"origin", backend.origin},
                                {"loaded", backend.loaded},
                                {"note", backend.note},
                                {"options", options_as_json(backend)}});
  }
  return to_text(json);
}

class DevicesCommand final : public Command {
 public:
  const CommandInfo& info() const override {
    static constexpr CommandInfo kInfo = {
        "devices", "list devices and backends, with the reason why a backend is off",
        "  shunt devices\n"
        "  shunt devices --options\n"
        "  shunt devices --json"};
    return kInfo;
  }
  void declare(Arguments& arguments) override {
    runtime_.declare(arguments);
    arguments.flag("--options", list_options_,
                   "List the options of all backends: value, default, variable, meaning");
    arguments.flag("--json", json_, "Print JSON");
  }
  Status check() override {
    SHUNT_ASSIGN(options_, runtime_.options());
    return ok();
  }
  Status run(Output& output) override {
    SHUNT_ASSIGN(const auto registry, Registry::create(options_));
    output.write(json_           ? to_json(*registry)
                 : list_options_ ? options_as_text(*registry)
                                 : to_plain_text(*registry));
    return ok();
  }

 private:
  RuntimeFlags runtime_;
  Options options_;
  bool list_options_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_devices_command() {
  return std::make_unique<DevicesCommand>();
}

}  // namespace shunt::cli
