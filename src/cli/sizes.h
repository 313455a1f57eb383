// Sizes for people, and the memory of this process.
#pragma once

#include <cstdint>
#include <string>

namespace shunt::cli {

/// "512 bytes", "1.5 MiB".
std::string format_bytes(std::uint64_t bytes);
/// "512", "1.1 billion".
std::string format_count(std::uint64_t count);

/// Most memory that this process has had at a time, in bytes; 0 if the system does not tell.
std::uint64_t peak_memory();
/// From now on it tells the most since this call. Does nothing if the system can't do that.
void reset_peak_memory();

}  // namespace shunt::cli
