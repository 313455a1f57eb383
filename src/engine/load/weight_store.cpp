#include "engine/load/weight_store.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace shunt {

const WeightRecord& WeightStore::at(const gguf::TensorInfo* weight) const {
  static const WeightRecord kNone;
  const auto found = records.find(weight);
  return found == records.end() ? kNone : found->second;
}

bool WeightStore::any_loaded() const {
  return std::ranges::any_of(records, [](const auto& each) { return each.second.is_loaded(); });
}

bool WeightStore::any_copied() const {
  return std::ranges::any_of(records, [](const auto& each) { return each.second.copy != nullptr; });
}

std::map<const gguf::TensorInfo*, DeviceIndex> WeightStore::homes() const {
  std::map<const gguf::TensorInfo*, DeviceIndex> homes;
  for (const auto& [info, record] : records) {
    if (record.is_loaded()) homes.emplace(info, record.home);
  }
  return homes;
}

Transcoded WeightStore::transcoded() const {
  Transcoded weights;
  for (const auto& [info, record] : records) {
    if (record.transcoded) weights.emplace(info, *record.transcoded);
  }
  return weights;
}

std::vector<TranscodedWeight> WeightStore::all_transcoded() const {
  std::vector<std::pair<const gguf::TensorInfo*, TranscodedWeight>> sorted;
  for (const auto& [info, record] : records) {
    if (record.transcoded) {
      sorted.emplace_back(info, *record.transcoded);
    } else if (record.lossy) {
      sorted.emplace_back(info, *record.lossy);
    }
  }
  std::ranges::sort(sorted, {}, [](const auto& each) {
    return std::tuple(each.first->part, each.first->offset, each.second.name);
  });
  std::vector<TranscodedWeight> all;
  all.reserve(sorted.size());
  for (auto& each : sorted) all.push_back(std::move(each.second));
  return all;
}

void WeightStore::unload(WeightRecord& record) {
  record.home = kNoDevice;
  record.address = {};
  record.transcoded.reset();
  record.lossy.reset();
}

void WeightStore::free_unused() {
  std::set<const Buffer*> needed;
  for (const auto& [info, record] : records) needed.insert(record.address.buffer);
  for (auto& of_device : buffers) {
    std::erase_if(of_device, [&](const auto& buffer) { return !needed.contains(buffer.get()); });
  }
}

void WeightStore::erase_device(DeviceIndex device) {
  if (device < buffers.indices().size()) buffers.erase(buffers.begin() + device);
  for (auto& [info, record] : records) {
    if (record.home == device) {
      unload(record);
    } else if (record.home > device) {
      --record.home;
    }
  }
}

}  // namespace shunt
