// How much of the processors' time the control group allows.
#pragma once

#include <string>

namespace shunt {

/// Processors' worth of time that the process's control group and those above it allow (v1 and v2),
/// rounded up; 0: no limit. A value that can't be read is no limit. `root` is put in front of /sys
/// and /proc, for tests.
int read_cpu_quota(const std::string& root = "");

}  // namespace shunt
