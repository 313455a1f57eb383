// The chips: numbers of the hardware and of its runtime that programs can see. Which operators a
// chip has is in support.h.
#pragma once

#include <cstdint>

namespace ascend_twin {

/// Bit masks, so that tables can name several.
enum Chip : std::uint8_t { kNoChip = 0, k910b = 1, k310p = 2, k310b = 4 };

struct Profile {
  const char* name;  ///< of the setting
  const char* soc;   ///< answer of aclrtGetSocName
  Chip chip;
  bool one_memory;  ///< the host's memory is the device's (310B): run mode ACL_DEVICE
  bool saturates;   ///< infinities become the largest finite number, NaN zero
  bool has_bf16;
  bool has_virtual_memory, has_capture, has_peers, has_registered_host;
  std::uint64_t memory;           ///< bytes of a device
  std::uint32_t streams, events;  ///< at most, of a device
  std::uint32_t cube_cores, vector_cores;
  std::uint64_t l2;
  std::uint32_t arch;         ///< attribute 601
  std::uint64_t granularity;  ///< of virtual memory
};

/// As the settings are now. Null with PROFILE=none: no device.
const Profile* profile();
/// SOC, or the profile's own name; null without a device.
const char* soc_name();
std::uint64_t device_memory();

}  // namespace ascend_twin
