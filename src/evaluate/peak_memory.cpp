#include "shunt/peak_memory.h"

#include <sys/resource.h>

#include <fstream>

namespace shunt {

std::uint64_t peak_memory() {
  struct rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;  // Linux counts in KiB
}

void reset_peak_memory() {
  // proc(5): 5 resets the peak, VmHWM, to the current memory of the process.
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace shunt
