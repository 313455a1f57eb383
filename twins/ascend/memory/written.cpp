#include "ascend/memory/written.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace ascend_twin {

Written::Written(std::uint64_t bytes, bool all) {
  if (all) return;
  mapped_ = bytes / 8 + 1;
  void* const mapped = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  bits_ = static_cast<unsigned char*>(mapped);
}

Written::~Written() {
  if (bits_ != nullptr) ::munmap(bits_, mapped_);
}

void Written::set(std::uint64_t offset, std::uint64_t bytes, bool written) {
  if (bits_ == nullptr) return;
  const auto store = [&](std::uint64_t from, std::uint64_t count) {
    std::atomic_ref byte(bits_[from / 8]);
    const auto mask = static_cast<unsigned char>(((1U << count) - 1U) << (from % 8));
    if (written) {
      byte.fetch_or(mask, std::memory_order_relaxed);
    } else {
      byte.fetch_and(static_cast<unsigned char>(~mask), std::memory_order_relaxed);
    }
  };
  const std::uint64_t end = offset + bytes;
  if (offset % 8 != 0 && offset < end) {
    const std::uint64_t count = std::min(end - offset, 8 - offset % 8);
    store(offset, count);
    offset += count;
  }
  for (; end - offset >= 8; offset += 8) {
    std::atomic_ref(bits_[offset / 8]).store(written ? 0xFF : 0, std::memory_order_relaxed);
  }
  if (offset < end) store(offset, end - offset);
}

void Written::mark(std::uint64_t offset, std::uint64_t bytes) {
  set(offset, bytes, true);
}

void Written::clear(std::uint64_t offset, std::uint64_t bytes) {
  set(offset, bytes, false);
}

void Written::copy(std::uint64_t offset, const Written& from, std::uint64_t from_offset,
                   std::uint64_t bytes) {
  if (bits_ == nullptr) return;
  if (from.first_unwritten(from_offset, bytes) == kNone) {
    mark(offset, bytes);
    return;
  }
  clear(offset, bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    const std::uint64_t byte = from_offset + i;
    const unsigned char bits =
        std::atomic_ref(from.bits_[byte / 8]).load(std::memory_order_relaxed);
    if ((bits >> (byte % 8) & 1U) != 0) mark(offset + i, 1);
  }
}

std::uint64_t Written::first_unwritten(std::uint64_t offset, std::uint64_t bytes) const {
  if (bits_ == nullptr) return kNone;
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const unsigned char byte = std::atomic_ref(bits_[offset / 8]).load(std::memory_order_relaxed);
    if (byte == 0xFF && offset % 8 == 0 && end - offset >= 8) {
      offset += 8;
      continue;
    }
    if ((byte >> (offset % 8) & 1U) == 0) return offset;
    ++offset;
  }
  return kNone;
}

}  // namespace ascend_twin
