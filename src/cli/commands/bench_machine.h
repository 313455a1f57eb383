// `shunt bench machine`: the peaks of devices.
#pragma once

#include <span>

#include "cli/report/bench_reports.h"
#include "cli/terminal/output.h"
#include "shunt/device.h"

namespace shunt::cli {

/// Measures and prints the peaks of each device that can measure them, for one thread up to all
/// that it computes with. `seconds`: for all peaks of one number of threads.
Status bench_machine(std::span<Device* const> devices, double seconds, BenchFormat format,
                     Output& output);

}  // namespace shunt::cli
