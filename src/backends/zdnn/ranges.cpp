#include "backends/zdnn/program.h"

#include "base/counted.h"
#include "base/fail.h"

namespace shunt::zdnn {

void RangeCounts::count(const std::string& node) {
  const std::lock_guard lock(mutex_);
  ++counts_[node];
}

std::vector<DeviceWarning> RangeCounts::warnings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceWarning> warnings;
  for (const auto& [node, count] : counts_) {
    warnings.push_back({fmt::format("{} met numbers beyond those of DLFLOAT16, and was computed "
                                    "without the accelerator",
                                    node),
                        count});
  }
  return warnings;
}

}  // namespace shunt::zdnn
