// How much memory the system has left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shunt {

/// Bytes that can be allocated without anything being swapped out or ended: the memory that the
/// system has left, and no more than the process's control groups (v1 and v2) leave it. Memory that
/// holds files counts as left, as it is given up when it is needed. Nothing where the system does
/// not report it. `root` is put in front of /sys and /proc, for tests.
std::optional<std::uint64_t> available_memory(const std::string& root = "");

/// The number of KiB behind a line's name in a file such as /proc/meminfo, in bytes.
std::optional<std::uint64_t> read_kilobytes(const std::string& path, const std::string& name);

}  // namespace shunt
