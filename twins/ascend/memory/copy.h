// Copies between any two places, for calls, tasks of streams and captured tasks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascend/call.h"

namespace ascend_twin {

/// The front end's checks: null, enumeration (100000), more than the destination has (107000).
Status check_copy(const void* to, std::size_t most, const void* from, std::size_t count,
                  std::int32_t kind);

enum class Place : std::uint8_t {
  kPageable,  ///< the host's own: unknown to the runtime
  kPinned,    ///< aclrtMallocHost, aclrtHostRegister
  kDevice,    ///< or an address of a device that is no memory (any more)
};
Place place_of(const void* address);

/// Rows of `width` bytes, at distances of the pitches. A plain copy is one row.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t width = 0;
  std::size_t height = 1;
  std::size_t to_pitch = 0;
  std::size_t from_pitch = 0;
};

/// Copies the bytes as they are now, with the bits of which bytes were written, and counts. `bad`
/// is the code for an address that is no memory: 107000 of calls, 507015 of tasks.
Status copy_now(const Copy& copy, Status bad = ACL_ERROR_RT_PARAM_INVALID);

Status fill_now(void* address, std::int32_t value, std::size_t count,
                Status bad = ACL_ERROR_RT_PARAM_INVALID);

}  // namespace ascend_twin
