#include "engine/load/memory_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shunt/ledger.h"

namespace shunt {

MemoryPool memory_pool(DeviceSpan<const DeviceLimit> limits,
                       DeviceSpan<const std::uint64_t> asked) {
  MemoryPool pool;
  pool.asked = asked.of_cpu();
  for (const DeviceIndex d : asked.accelerators()) {
    if (!limits[d].pooled || asked[d] == 0) continue;
    pool.devices.push_back(d);
    pool.asked += asked[d];
    if (limits[d].known() < pool.limit.known()) pool.limit = limits[d];
  }
  return pool;
}

std::string names_in_pool(DeviceIndex device, DeviceSpan<const DeviceLimit> limits,
                          DeviceSpan<const std::string> names) {
  if (!limits[device].pooled) return "";
  std::vector<std::string> others;
  for (const DeviceIndex d : names.accelerators()) {
    if (d != device && limits[d].pooled) others.push_back(names[d]);
  }
  return fmt::format("{}{}{}", fmt::join(others, ", "), others.empty() ? "" : " and ",
                     names.of_cpu());
}

std::string to_text(const MemoryPool& pool, DeviceSpan<const std::uint64_t> asked,
                    DeviceSpan<const std::string> names) {
  std::vector<std::string> parts;
  const auto add = [&](DeviceIndex d) {
    parts.push_back(fmt::format("{} ({})", names[d], size_text(asked[d])));
  };
  for (const DeviceIndex device : pool.devices) add(device);
  add(names.cpu());
  return to_text(MemoryNeed{fmt::format("{}, unified memory,", fmt::join(parts, " with ")),
                            pool.asked, pool.limit.free, pool.limit.margin});
}

}  // namespace shunt
