#include "engine/load/memory_budget.h"

#include <utility>

#include "shunt/message.h"

namespace shunt {

MemoryBudget::MemoryBudget(const DeviceSet& devices, For purpose)
    : devices_(devices),
      purpose_(purpose),
      caps_(devices.size(), kNoLimit),
      attempts_(devices.size(), 0) {}

void MemoryBudget::limit(FitRequest& request) const {
  for (const DeviceIndex i : caps_.indices()) request.limits[i].cap = caps_[i];
  request.may_overlap = request.may_overlap && may_overlap_;
}

void MemoryBudget::plan(const Fit& fit) {
  planned_ = Planned{fit.planned, fit.overlap};
}

std::vector<std::string> MemoryBudget::lower(const Error& error) {
  if (error.code() != ErrorCode::kOutOfMemory || !planned_) return {};
  const Planned planned = *std::exchange(planned_, std::nullopt);
  const std::string_view purpose = purpose_ == For::kWeights ? "weights" : "a session";
  if (purpose_ == For::kSession && planned.overlap) {
    may_overlap_ = false;
    return {
        fmt::format("{}: refused memory for a session, so steps of a prompt do not overlap on "
                    "any device",
                    error.device().empty() ? "a device" : error.device())};
  }
  std::vector<std::string> lines;
  for (const DeviceIndex i : devices_.accelerators()) {
    const std::string name(devices_[i]->name());
    const bool refused = error.device().empty() || error.device() == name;
    if (!refused || planned.bytes[i] == 0) continue;
    caps_[i] = lower_cap(planned.bytes[i], attempts_[i]++);
    lines.push_back(fmt::format("{}: refused memory for {} out of {}, so it gets at most {}", name,
                                purpose, size_text(planned.bytes[i]), size_text(caps_[i])));
  }
  return lines;
}

}  // namespace shunt
