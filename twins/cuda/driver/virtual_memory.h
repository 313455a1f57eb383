// Virtual memory: reserved addresses, physical memory, and mappings of one to the other.
// Driver::virtual_mutex guards everything here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda/driver/state.h"

namespace cuda_twin {

/// cuMemCreate. It stays in Driver::physicals while it has references or mappings; without
/// references its handle is refused.
struct Physical {
  Device* device = nullptr;
  std::uint64_t handle = 0;
  std::uint64_t bytes = 0;
  CUmemAllocationProp prop{};
  std::shared_ptr<Extent> storage;
  unsigned references = 1;
  unsigned mappings = 0;

  Physical() = default;
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;
  ~Physical();
};

struct Mapping {
  std::uint64_t bytes = 0, offset = 0;
  std::shared_ptr<Physical> physical;
  std::uint32_t readers = 0, writers = 0;  ///< bit d: device d has access
};

/// cuMemAddressReserve.
struct Reservation {
  std::uint64_t bytes = 0;
  std::map<std::uint64_t, Mapping> mappings;  ///< by address
};

/// The reservation that holds all of the range, or null. These need Driver::virtual_mutex.
Reservation* reservation_of(std::uint64_t address, std::uint64_t bytes);
/// The mapping that holds the address, or null.
Mapping* mapping_at(std::uint64_t address);
/// Whether the reservation has a mapping of any byte of the range.
bool has_mapping(const Reservation& range, std::uint64_t address, std::uint64_t bytes);
/// The mappings that make up the range, whole and without a gap; empty if they do not.
std::vector<std::uint64_t> mappings_of(const Reservation& range, std::uint64_t address,
                                       std::uint64_t bytes);

std::size_t count_reserved_ranges();
/// For cuda_twin_reset().
void drop_virtual_memory();

}  // namespace cuda_twin
