#include "engine/memory_pool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shunt/ledger.h"

namespace shunt {

MemoryPool memory_pool(std::span<const DeviceLimit> limits, std::span<const std::uint64_t> asked) {
  MemoryPool pool;
  pool.asked = asked.back();
  for (std::size_t d = 0; d + 1 < asked.size(); ++d) {
    if (!limits[d].pooled || asked[d] == 0) continue;
    pool.devices.push_back(static_cast<int>(d));
    pool.asked += asked[d];
    if (limits[d].known() < pool.limit.known()) pool.limit = limits[d];
  }
  return pool;
}

std::string names_in_pool(int device, std::span<const DeviceLimit> limits,
                          std::span<const std::string> names) {
  const auto own = static_cast<std::size_t>(device);
  if (!limits[own].pooled) return "";
  std::vector<std::string> others;
  for (std::size_t d = 0; d + 1 < names.size(); ++d) {
    if (d != own && limits[d].pooled) others.push_back(names[d]);
  }
  return fmt::format("{}{}{}", fmt::join(others, ", "), others.empty() ? "" : " and ",
                     names.back());
}

std::string to_text(const MemoryPool& pool, std::span<const std::uint64_t> asked,
                    std::span<const std::string> names) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t d) {
    parts.push_back(fmt::format("{} ({})", names[d], size_text(asked[d])));
  };
  for (const int device : pool.devices) add(static_cast<std::size_t>(device));
  add(names.size() - 1);
  return to_text(MemoryNeed{fmt::format("{}, one pool of memory,", fmt::join(parts, " with ")),
                            pool.asked, pool.limit.free, pool.limit.margin});
}

}  // namespace shunt
