#include "backends/zdnn/program.h"

#include "base/counted.h"
#include "base/fail.h"

namespace shunt::zdnn {

void RangeCounts::count(const std::string& node, bool saturated) {
  const std::lock_guard lock(mutex_);
  ++counts_[{node, saturated}];
}

std::vector<DeviceWarning> RangeCounts::warnings() const {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceWarning> warnings;
  for (const auto& [met, count] : counts_) {
    const auto& [node, saturated] = met;
    warnings.push_back({fmt::format("{} met numbers beyond those of DLFLOAT16, {}", node,
                                    saturated ? "which became the largest that it has"
                                              : "and was computed without the accelerator"),
                        count});
  }
  return warnings;
}

}  // namespace shunt::zdnn
