#include "base/host_memory_facts.h"

#include <unistd.h>

#include "base/available_memory.h"

namespace shunt {

HostMemoryFacts host_memory_facts() {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto free = page * static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES));
  return {page * static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)),
          available_memory().value_or(free)};
}

}  // namespace shunt
