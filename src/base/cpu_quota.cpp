#include "base/cpu_quota.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/control_groups.h"

namespace shunt {

namespace {

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
  for (const auto& [folder, v2] : control_groups("cpu", root)) {
    if (v2) {
      std::istringstream text(first_line(folder + "/cpu.max"));
      std::string quota;
      double period = 0;
      if (text >> quota >> period && quota != "max") {
        limit = tighter(limit, processors(std::strtod(quota.c_str(), nullptr), period));
      }
    } else {
      const std::string quota = first_line(folder + "/cpu.cfs_quota_us");
      const std::string period = first_line(folder + "/cpu.cfs_period_us");
      limit = tighter(limit, processors(std::strtod(quota.c_str(), nullptr),
                                        std::strtod(period.c_str(), nullptr)));
    }
  }
  return limit;
}

}  // namespace shunt
