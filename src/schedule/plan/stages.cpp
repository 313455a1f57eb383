#include "schedule/plan/stages.h"

#include <algorithm>
#include <set>

#include "device/device_set.h"

namespace shunt {

namespace {

std::set<DeviceIndex> find_asynchronous(std::span<Device* const> devices) {
  std::set<DeviceIndex> found;
  for (const DeviceIndex device : DeviceIndices(devices.size())) {
    if (device_at(devices, device).info().asynchronous) found.insert(device);
  }
  return found;
}

}  // namespace

std::vector<Stage> find_stages(std::span<const Action> actions, std::span<const Waits> waits,
                               std::span<Device* const> devices, std::size_t steps_in_flight) {
  std::vector<Stage> stages(1);
  if (steps_in_flight > 1) {
    const std::set<DeviceIndex> asynchronous = find_asynchronous(devices);
    std::set<DeviceIndex> working;  // asynchronous devices of the last stage
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const bool goes_on = asynchronous.contains(actions[i].device);
      const bool blocks = !goes_on && std::ranges::any_of(waits[i].same_step, [&](std::size_t of) {
        return of >= stages.back().begin && asynchronous.contains(actions[of].device);
      });
      if (blocks) {
        stages.push_back({.begin = i, .due = stages.back().due + working.size()});
        working.clear();
      }
      if (goes_on) working.insert(actions[i].device);
    }
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Stage& stage = stages[i];
    stage.end = i + 1 < stages.size() ? stages[i + 1].begin : actions.size();
    for (const Waits& each : waits.subspan(stage.begin, stage.end - stage.begin)) {
      stage.submitted_before = std::max(stage.submitted_before, each.submitted_before);
    }
  }
  return stages;
}

}  // namespace shunt
