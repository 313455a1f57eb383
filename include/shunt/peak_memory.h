/// \file
/// The peak memory of this process, as reports of runs and benchmarks print it.
///
/// \code
/// reset_peak_memory();
/// SHUNT_TRY(plan->run());
/// std::cout << peak_memory() << " bytes\n";
/// \endcode
#pragma once

#include <cstdint>

namespace shunt {

/// Peak memory of this process in bytes; 0 if the system does not report it.
std::uint64_t peak_memory();
/// Starts the peak again from the current memory. Does nothing if the system can't do that.
void reset_peak_memory();

}  // namespace shunt
