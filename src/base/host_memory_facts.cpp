#include "base/host_memory_facts.h"

#include <unistd.h>

#include "base/available_memory.h"

namespace shunt {

namespace {

std::uint64_t bytes_of_pages(int name) {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) *
         static_cast<std::uint64_t>(sysconf(name));
}

}  // namespace

std::uint64_t host_memory_total() {
  static const std::uint64_t total = bytes_of_pages(_SC_PHYS_PAGES);
  return total;
}

std::uint64_t host_memory_free() {
  if (const auto available = available_memory()) return *available;
  return bytes_of_pages(_SC_AVPHYS_PAGES);
}

}  // namespace shunt
