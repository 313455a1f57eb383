// One lane's access to memory: the checks of its address, and the messages. The instructions have
// faster ways for the common cases (instructions/spots.h), and come here for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "cuda/machine/block.h"
#include "cuda/ptx/types.h"

namespace cuda_twin {

/// How memory is accessed: bits.
using AccessFlags = std::uint32_t;
inline constexpr AccessFlags kRead = 1;
inline constexpr AccessFlags kWrite = 2;
inline constexpr AccessFlags kStrong = 4;  ///< atom, red, volatile, relaxed, acquire, release
inline constexpr AccessFlags kAcquire = 8;
inline constexpr AccessFlags kRelease = 16;

/// Where a lane's access goes.
struct Spot {
  std::byte* data = nullptr;
  std::uint64_t* written = nullptr;  ///< bitmap; null: all is written
  std::uint64_t first_bit = 0;
  const Extent* extent = nullptr;          ///< of global memory, held by Block::extents
  ptx::Space space = ptx::Space::kGlobal;  ///< never generic
  std::uint64_t address = 0;               ///< within the space
};

/// The extent that holds all of the range, or null. It stays while Block::extents holds it: until
/// the next look-up.
const Extent* extent_of(Warp& warp, std::uint64_t address, std::uint64_t bytes);

/// The space that a generic address points into; the address becomes one within that space.
ptx::Space space_of_generic(std::uint64_t& address);

/// Checks alignment and bounds. False after a fault of the kernel.
bool locate(Warp& warp, unsigned lane, ptx::Space space, std::uint64_t address, unsigned bytes,
            AccessFlags access, Spot& spot);
/// locate() of elements of `element` bytes, and for a read whether all bytes were written, for a
/// write that they are from now on, and races. In local memory a written byte of each element is
/// enough: compilers copy the padding of structs there. False if the kernel ends.
bool locate_and_check(Warp& warp, unsigned lane, ptx::Space space, std::uint64_t address,
                      unsigned bytes, unsigned element, AccessFlags access, Spot& spot);

/// A strong access of 128 bits is one step for all host threads: it holds this lock. Others get an
/// empty one.
std::unique_lock<std::mutex> lock_wide(bool strong);

/// "shared address 0x40", or for global memory with the allocation.
std::string name_of_spot(const Spot& spot);
const char* name_of_access(AccessFlags access);  ///< "read", "write", "atomic access"

}  // namespace cuda_twin
