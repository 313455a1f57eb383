// The devices that the twin can be, as data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cuda/include/cuda_twin/driver.h"

namespace cuda_twin {

struct Profile {
  const char* name;  ///< as CUDA_TWIN_PROFILE has it
  const char* device_name;
  int major, minor;  ///< compute capability
  int multiprocessors;
  std::uint64_t memory_bytes;
  int clock_khz, memory_clock_khz, bus_bits;
  int l2_bytes;
  int shared_block, shared_optin, shared_sm;  ///< bytes
  int threads_sm, blocks_sm;
  int copy_engines;
  bool integrated;  ///< memory shared with the host
  bool ecc;
};

inline constexpr std::size_t kProfiles = 8;
extern const Profile kProfileTable[kProfiles];

/// The value of a device attribute, or nothing if the attribute is unknown. Attributes of what the
/// twin does not have (textures, arrays, handles for other processes) are 0.
std::optional<int> attribute_of(const Profile& profile, int attribute);

}  // namespace cuda_twin
