// How much memory the host has.
#pragma once

#include <cstdint>

namespace shunt {

struct HostMemoryFacts {
  std::uint64_t total = 0;  ///< bytes
  std::uint64_t free = 0;  ///< bytes that can be allocated: available_memory(), where that is known
};
HostMemoryFacts host_memory_facts();

}  // namespace shunt
