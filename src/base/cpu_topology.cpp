#include "base/cpu_topology.h"

#include <algorithm>
#include <fstream>

#include "base/cpu_affinity.h"
#include "base/cpu_quota.h"

namespace shunt {

namespace {

std::string model_name(const std::string& root) {
  std::ifstream info(root + "/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (!line.starts_with("model name") && !line.starts_with("processor 0:")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

}  // namespace

int CpuTopology::physical() const {
  return std::max(static_cast<int>(cores.size()), 1);
}

int CpuTopology::logical() const {
  std::size_t count = 0;
  for (const CpuCore& core : cores) count += core.processors.size();
  return std::max(static_cast<int>(count), 1);
}

int CpuTopology::at_once() const {
  return quota > 0 ? std::min(logical(), quota) : logical();
}

int CpuTopology::default_threads() const {
  return quota > 0 ? std::min(physical(), quota) : physical();
}

CpuTopology read_cpu_topology(const std::string& root, const MachineDescription& machine) {
  return {read_cpu_cores(this_threads_processors(), machine), read_cpu_quota(root),
          model_name(root)};
}

}  // namespace shunt
