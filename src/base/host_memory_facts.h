// How much memory the host has.
#pragma once

#include <cstdint>

namespace shunt {

/// Total bytes. Constant.
std::uint64_t host_memory_total();
/// Bytes that can be allocated now: available_memory(), where that is known.
std::uint64_t host_memory_free();

}  // namespace shunt
