#include "schedule/costs/cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "shunt/files.h"
#include "shunt/registry.h"

namespace shunt {

namespace {

using CacheJson = nlohmann::ordered_json;

/// The version of the measurement method. A change of the method changes it.
constexpr int kCacheVersion = 5;

/// Drivers, firmware and processors' clocks change without a change of the key.
constexpr std::chrono::days kMostAge{30};

#ifdef __OPTIMIZE__
constexpr std::string_view kOptimized = "optimized";
#else
constexpr std::string_view kOptimized = "not optimized";
#endif

/// FNV-1a in 64 bits: the same on every machine.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

std::string text_at(const CacheJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// A text after it was written as JSON and read again: valid UTF-8.
std::string as_kept(const std::string& text) {
  return CacheJson::parse(CacheJson(text).dump(-1, ' ', false, CacheJson::error_handler_t::replace))
      .get<std::string>();
}

/// Of "2026-11-23"; nothing for other text, or for a day that does not exist.
std::optional<std::chrono::sys_days> day_of(std::string_view date) {
  constexpr std::string_view kForm = "0000-00-00";
  if (date.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < date.size(); ++i) {
    const bool fits = kForm[i] == '-' ? date[i] == '-' : date[i] >= '0' && date[i] <= '9';
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t first, std::size_t count) {
    unsigned value = 0;
    std::from_chars(date.data() + first, date.data() + first + count, value);
    return value;
  };
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2)));
  if (!day.ok()) return std::nullopt;
  return std::chrono::sys_days(day);
}

/// The costs of a file as those of the device; nothing if an entry is of another one.
std::optional<CostModel> costs_of(const CostModel& file, const DeviceInfo& device) {
  const std::string name = as_kept(device.name);
  const std::string description = as_kept(device.description);
  const auto take = [&](const auto& entries, CostModel& costs) {
    return std::ranges::all_of(entries, [&](auto entry) {
      if (entry.device != name || entry.description != description) return false;
      entry.device = device.name;
      entry.description = device.description;
      costs.add(std::move(entry));
      return true;
    });
  };
  CostModel costs;
  if (!take(file.ops(), costs) || !take(file.copies(), costs)) return std::nullopt;
  return costs;
}

/// A folder with those above it. Missing folders are created with access for their owner only, as
/// the XDG specification requires. A failure is reported by the later write.
void make_private_folders(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::exists(folder, error)) return;
  make_private_folders(folder.parent_path());
  ::mkdir(folder.c_str(), S_IRWXU);
}

}  // namespace

std::string CostCache::key_of(const DeviceInfo& device) const {
  return as_kept(fmt::format("costs {}; {}, {}; {}: {}; {}", kCacheVersion, abi_token(), kOptimized,
                             device.name, device.description, machine_));
}

std::string CostCache::path_of(const DeviceInfo& device) const {
  return fmt::format("{}/costs-{:016x}.json", folder_, hash_of(key_of(device)));
}

std::string CostCache::today() const {
  const std::chrono::year_month_day day(today_);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

std::optional<KeptCosts> CostCache::read(const DeviceInfo& device,
                                         std::vector<std::string>& notes) const {
  if (folder_.empty()) return std::nullopt;
  const std::string path = path_of(device);
  const auto refuse = [&](std::string_view why) {
    notes.push_back(fmt::format("{}; {} is measured again", why, device.name));
    return std::nullopt;
  };
  const auto file = MappedFile::open(path);
  if (!file && file.error().code() == ErrorCode::kNotFound) return std::nullopt;
  if (!file) return refuse(file.error().message());
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  auto costs = CostModel::parse(text, path);
  if (!costs) return refuse(costs.error().message());
  const CacheJson json = CacheJson::parse(text, nullptr, false);
  if (text_at(json, "key") != key_of(device)) {
    return refuse(path + ": it was measured on another device, machine or version");
  }
  std::string date = text_at(json, "date");
  const auto day = day_of(date);
  if (!day) return refuse(path + ": its \"date\" is not a day such as 2026-11-23");
  // A clock may have been set back by a day.
  if (today_ - *day > kMostAge || *day - today_ > std::chrono::days(1)) return std::nullopt;
  auto own = costs_of(*costs, device);
  if (!own) return refuse(path + ": it has entries of another device");
  return KeptCosts{std::move(*own), std::move(date)};
}

bool CostCache::write(const DeviceInfo& device, const KeptCosts& kept,
                      std::vector<std::string>& notes) const {
  if (folder_.empty()) return false;
  make_private_folders(folder_);
  CacheJson json = CacheJson::parse(kept.costs.to_text());
  json["key"] = key_of(device);
  json["date"] = kept.date;
  const Status status = write_file(
      path_of(device), json.dump(2, ' ', false, CacheJson::error_handler_t::replace) + "\n",
      WriteTo::kFile);
  if (!status) {
    notes.push_back(
        fmt::format("{}; costs of {} are not kept", status.error().message(), device.name));
  }
  return status.has_value();
}

}  // namespace shunt
