// Aligned memory of this process, in huge pages if it is large.
#pragma once

#include <cstddef>
#include <memory>

namespace shunt {

/// Smallest size for which huge pages are requested from the system.
inline constexpr std::size_t kHugePagesFrom = std::size_t{4} << 20;

struct FreeAlignedBytes {
  std::size_t alignment = alignof(std::max_align_t);
  void operator()(std::byte* data) const;
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAlignedBytes>;

/// Memory that starts at a multiple of `alignment` (a power of two); null if there is none. From
/// kHugePagesFrom on it starts at a huge page, and the system is asked to use such pages for all
/// but its end. The system may ignore the request.
AlignedBytes allocate_aligned(std::size_t bytes, std::size_t alignment);

/// Gives whole pages of `bytes` at `data` (page aligned) back to the system, with their contents.
/// The next thread that touches them gets them in the memory of its own NUMA node.
void forget_pages(std::byte* data, std::size_t bytes);
/// Bytes of a page.
std::size_t page_size();

}  // namespace shunt
