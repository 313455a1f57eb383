#include "base/available_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>

#include "base/control_groups.h"

namespace shunt {

namespace {

std::optional<std::uint64_t> to_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{}) return std::nullopt;
  return number;
}

/// The number behind a line's name.
std::optional<std::uint64_t> read_number(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return to_number(std::string_view(line).substr(name.size()));
  }
  return std::nullopt;
}

/// The rest of a group's limit; nothing if it has none.
std::optional<std::uint64_t> left_in(const ControlGroup& group) {
  const auto file = [&](const char* v2, const char* v1) {
    return group.folder + (group.v2 ? v2 : v1);
  };
  const auto limit = to_number(first_line(file("/memory.max", "/memory.limit_in_bytes")));
  const auto used = to_number(first_line(file("/memory.current", "/memory.usage_in_bytes")));
  if (!limit || !used) return std::nullopt;
  std::uint64_t files = 0;
  for (const char* name : {"active_file ", "inactive_file "}) {
    const std::string line = group.v2 ? name : std::string("total_") + name;
    files += read_number(group.folder + "/memory.stat", line).value_or(0);
  }
  const std::uint64_t held = *used - std::min(*used, files);
  return *limit - std::min(*limit, held);
}

}  // namespace

std::optional<std::uint64_t> read_kilobytes(const std::string& path, const std::string& name) {
  const auto number = read_number(path, name);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() / 1024) return std::nullopt;
  return *number * 1024;
}

std::optional<std::uint64_t> available_memory(const std::string& root) {
  auto available = read_kilobytes(root + "/proc/meminfo", "MemAvailable:");
  if (!available) return std::nullopt;
  for (const ControlGroup& group : control_groups("memory", root)) {
    available = std::min(*available, left_in(group).value_or(*available));
  }
  return available;
}

}  // namespace shunt
