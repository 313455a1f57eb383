#include "base/control_groups.h"

#include <fmt/format.h>

#include <fstream>

namespace shunt {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root) {
  std::vector<ControlGroup> found;
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // "4:cpu,cpuacct:/job", or "0::/job" for the second version
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(fmt::format(",{},", controller)) == std::string::npos) continue;
    std::string mount = root + "/sys/fs/cgroup";
    if (!v2) mount += fmt::format("/{}", controller);
    std::string path = line.substr(second + 1);
    while (true) {
      found.push_back({mount + path, v2});
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return found;
}

}  // namespace shunt
