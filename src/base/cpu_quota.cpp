#include "base/cpu_quota.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace shunt {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// Processors' worth of time from a quota and a period in microseconds, rounded up.
int processors(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  const double exact = quota / period;
  return exact >= 1e6 ? 0 : static_cast<int>(exact) + (exact > static_cast<int>(exact) ? 1 : 0);
}

/// The tighter of two limits, where 0 is none.
int tighter(int a, int b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

}  // namespace

// cgroup v2: cpu.max of the process's group and of all groups above it. v1: the cpu controller's
// quota.
int read_cpu_quota(const std::string& root) {
  int limit = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string mount = root + (v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
    std::string path = line.substr(second + 1);
    while (true) {
      if (v2) {
        std::istringstream text(first_line(mount + path + "/cpu.max"));
        std::string quota;
        double period = 0;
        if (text >> quota >> period && quota != "max") {
          limit = tighter(limit, processors(std::strtod(quota.c_str(), nullptr), period));
        }
      } else {
        const std::string quota = first_line(mount + path + "/cpu.cfs_quota_us");
        const std::string period = first_line(mount + path + "/cpu.cfs_period_us");
        limit = tighter(limit, processors(std::strtod(quota.c_str(), nullptr),
                                          std::strtod(period.c_str(), nullptr)));
      }
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return limit;
}

}  // namespace shunt
