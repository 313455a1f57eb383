#include "shunt/select_devices.h"

#include <algorithm>

#include "device/device_set.h"
#include "shunt/message.h"

namespace shunt {

std::string stayed_off(const Registry& registry) {
  std::string text;
  for (const BackendStatus& status : registry.backends()) {
    if (status.loaded) continue;
    text += fmt::format("{}{} is not available: {}", text.empty() ? "" : "; ", status.name,
                        status.note);
  }
  return text;
}

Result<std::vector<Device*>> select_with_cpu(const Registry& registry,
                                             std::span<const std::string> names,
                                             std::span<const std::string> pinned) {
  SHUNT_ASSIGN(auto devices, registry.select(names));
  if (names.empty() && !pinned.empty()) {
    devices.clear();
    for (Device* device : registry.devices()) {
      const DeviceInfo info = device->info();
      if (info.priority >= 0 || std::ranges::find(pinned, info.name) != pinned.end()) {
        devices.push_back(device);
      }
    }
  }
  if (!DeviceSet(devices).has_cpu()) {
    const std::string why = stayed_off(registry);
    return fail(ErrorCode::kNotFound,
                "there is no CPU, which must compute the ops that no other device supports{}{}",
                why.empty() ? "" : "; ", why);
  }
  return devices;
}

Device& cpu_of_selected(std::span<Device* const> devices) {
  return DeviceSet(devices).cpu_device();
}

}  // namespace shunt
