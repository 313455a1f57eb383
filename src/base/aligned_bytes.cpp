#include "base/aligned_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace shunt {

namespace {

constexpr std::size_t kHugePage = std::size_t{2}
                                  << 20;  // of x86-64, and of Arm with pages of 4 KiB

}  // namespace

void FreeAlignedBytes::operator()(std::byte* data) const {
  ::operator delete[](data, std::align_val_t(alignment));
}

AlignedBytes allocate_aligned(std::size_t bytes, std::size_t alignment) {
  const bool huge = bytes >= kHugePagesFrom;
  if (huge) alignment = std::max(alignment, kHugePage);
  auto* data =
      static_cast<std::byte*>(::operator new[](bytes, std::align_val_t(alignment), std::nothrow));
#ifdef MADV_HUGEPAGE
  if (huge && data != nullptr) madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return AlignedBytes(data, {alignment});
}

void forget_pages(std::byte* data, std::size_t bytes) {
  madvise(data, bytes / page_size() * page_size(), MADV_DONTNEED);
}

std::size_t page_size() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace shunt
