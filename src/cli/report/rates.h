// The text form of rates and shares of a limit.
#pragma once

#include <string>

#include "cli/report/json.h"
#include "shunt/peaks.h"

namespace shunt::cli {

/// "61.2 GB/s", "1108.0 Gop/s".
std::string format_rate(Peak peak, double per_second);
/// "91.3%"; "-" for 0, where there is no limit.
std::string format_share(double share);

/// "read 61.2 GB/s, int8 1108.0 Gop/s, ...".
std::string to_line(const DevicePeaks& peaks);
Json peaks_json(const DevicePeaks& peaks);

}  // namespace shunt::cli
