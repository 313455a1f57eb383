// Where reserved addresses are mapped.
#include <iterator>

#include "cuda/driver/virtual_memory.h"

namespace cuda_twin {

Reservation* reservation_of(std::uint64_t address, std::uint64_t bytes) {
  auto& table = driver().reservations;
  auto at = table.upper_bound(address);
  if (at == table.begin()) return nullptr;
  --at;
  const std::uint64_t offset = address - at->first;
  Reservation& range = *at->second;
  return offset < range.bytes && bytes <= range.bytes - offset ? &range : nullptr;
}

Mapping* mapping_at(std::uint64_t address) {
  Reservation* const range = reservation_of(address, 1);
  if (range == nullptr) return nullptr;
  auto at = range->mappings.upper_bound(address);
  if (at == range->mappings.begin()) return nullptr;
  --at;
  return address - at->first < at->second.bytes ? &at->second : nullptr;
}

bool has_mapping(const Reservation& range, std::uint64_t address, std::uint64_t bytes) {
  const auto next = range.mappings.lower_bound(address);
  if (next != range.mappings.end() && next->first - address < bytes) return true;
  if (next == range.mappings.begin()) return false;
  const auto before = std::prev(next);
  return address - before->first < before->second.bytes;
}

std::vector<std::uint64_t> mappings_of(const Reservation& range, std::uint64_t address,
                                       std::uint64_t bytes) {
  std::vector<std::uint64_t> list;
  std::uint64_t at = address;
  while (at - address < bytes) {
    const auto found = range.mappings.find(at);
    if (found == range.mappings.end() || found->second.bytes > bytes - (at - address)) return {};
    list.push_back(at);
    at += found->second.bytes;
  }
  return list;
}

}  // namespace cuda_twin
