// The control groups that a process is in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shunt {

struct ControlGroup {
  std::string folder;  ///< where the files of its limits are
  bool v2 = false;     ///< of the second version, whose files have other names
};

/// Those that limit the process with `controller` ("cpu", "memory"), its own first, then the ones
/// above it. `root` is put in front of /sys and /proc, for tests.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root = "");

/// The first line of a file; empty if it can't be read.
std::string first_line(const std::string& path);

}  // namespace shunt
