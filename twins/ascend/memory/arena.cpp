#include "ascend/memory/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace ascend_twin {
namespace {
constexpr std::uint64_t kPage = 4096;

std::uint64_t up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}
}  // namespace

std::unique_ptr<Arena> Arena::make(std::uint64_t bytes, bool one_memory) {
  auto arena = std::make_unique<Arena>();
  arena->bytes_ = up(bytes, kPage);
  arena->one_memory_ = one_memory;
  arena->file_ = ::memfd_create("ascend_twin_memory", MFD_CLOEXEC);
  if (arena->file_ < 0) return nullptr;
  if (::ftruncate(arena->file_, static_cast<off_t>(arena->bytes_)) != 0) return nullptr;
  void* const working = ::mmap(nullptr, arena->bytes_, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_NORESERVE, arena->file_, 0);
  if (working == MAP_FAILED) return nullptr;
  arena->working_ = static_cast<std::byte*>(working);
  if (one_memory) {
    arena->handed_out_ = reinterpret_cast<std::uintptr_t>(working);
    return arena;
  }
  void* const handed_out =
      ::mmap(nullptr, arena->bytes_, PROT_NONE, MAP_SHARED | MAP_NORESERVE, arena->file_, 0);
  if (handed_out == MAP_FAILED) return nullptr;
  arena->handed_out_ = reinterpret_cast<std::uintptr_t>(handed_out);
  return arena;
}

Arena::~Arena() {
  if (working_ != nullptr) ::munmap(working_, bytes_);
  if (handed_out_ != 0 && !one_memory_) ::munmap(reinterpret_cast<void*>(handed_out_), bytes_);
  if (file_ >= 0) ::close(file_);
}

std::uint64_t Arena::take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t remainder) {
  const auto aligned = [&](std::uint64_t from) {
    const std::uint64_t offset = from / alignment * alignment + remainder;
    return offset >= from ? offset : offset + alignment;
  };
  std::uint64_t offset = aligned(0);
  for (const auto& [begin, end] : taken_) {
    if (offset + bytes <= begin) break;
    offset = aligned(std::max(offset, end));
  }
  if (bytes > bytes_ || offset > bytes_ - bytes) return kNone;
  taken_[offset] = offset + bytes;
  return offset;
}

void Arena::give_back(std::uint64_t offset) {
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return;
  std::uint64_t begin = up(offset, kPage);
  const std::uint64_t end = found->second / kPage * kPage;
  taken_.erase(found);
  if (begin < end) {
    ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                static_cast<off_t>(end - begin));
  }
}

}  // namespace ascend_twin
