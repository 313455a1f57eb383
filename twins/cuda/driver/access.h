// Which devices may use memory: CUmemAccessDesc as bits, for pools and virtual memory.
#pragma once

#include <cstdint>

#include "cuda/driver/state.h"

namespace cuda_twin {

/// The device of an entry. It must be the memory's own or a peer of it, and the flags known.
CUresult access_device(const CUmemAccessDesc& entry, const Device& owner, Device*& device);
/// Sets or clears the bits of the entry's device.
void set_access_bits(const CUmemAccessDesc& entry, std::uint32_t& readers, std::uint32_t& writers);
CUmemAccess_flags access_flags(std::uint32_t readers, std::uint32_t writers, const Device& device);

}  // namespace cuda_twin
