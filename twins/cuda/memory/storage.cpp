#include "cuda/memory/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace cuda_twin {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSmall = 128 << 10;           // filled at once
constexpr std::uint64_t kPoisonWindow = 16ULL << 20;  // a file of poison, mapped again and again

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

/// A file without a name that is all poison, or -1. It grows to the size that a mapping needs, so
/// that few large allocations cost little memory.
class PoisonFile {
 public:
  int grown_to(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (file_ == -2) file_ = ::memfd_create("cuda_twin_poison", MFD_CLOEXEC);
    if (file_ < 0) return -1;
    std::byte block[1 << 14];
    std::memset(block, kPoison, sizeof block);
    while (size_ < bytes) {
      const auto done = ::pwrite(file_, block, sizeof block, static_cast<off_t>(size_));
      if (done <= 0) return -1;
      size_ += static_cast<std::uint64_t>(done);
    }
    return file_;
  }

 private:
  std::mutex mutex_;
  int file_ = -2;
  std::uint64_t size_ = 0;
};

PoisonFile& poison_file() {
  static auto* file = new PoisonFile;  // no destructor runs at exit
  return *file;
}

/// Private pages of the file: they read as poison, and become the allocation's when written.
bool map_poison(std::byte* at, std::uint64_t bytes) {
  const std::uint64_t window = std::min(bytes, kPoisonWindow);
  const int file = poison_file().grown_to(window);
  if (file < 0) return false;
  for (std::uint64_t done = 0; done < bytes; done += window) {
    void* const mapped = ::mmap(at + done, std::min(window, bytes - done), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0);
    if (mapped == MAP_FAILED) return false;
  }
  return true;
}

}  // namespace

std::shared_ptr<Storage> Storage::make(std::uint64_t bytes) {
  if (bytes > std::uint64_t{1} << 46) return nullptr;
  const std::uint64_t data_bytes = round_up(std::max<std::uint64_t>(bytes, 1), kPage);
  const std::uint64_t map_bytes = data_bytes + round_up(data_bytes / 8 + 8, kPage);
  void* const mapped = ::mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto storage = std::make_shared<Storage>(data_bytes);
  storage->data_ = static_cast<std::byte*>(mapped);
  storage->written_ = reinterpret_cast<std::uint64_t*>(storage->data_ + data_bytes);
  storage->mapped_ = map_bytes;
  if (data_bytes <= kSmall) {
    std::memset(mapped, kPoison, bytes);
    return storage;
  }
  return map_poison(storage->data_, data_bytes) ? storage : nullptr;
}

Storage::~Storage() {
  if (data_ != nullptr) ::munmap(data_, mapped_);
}

}  // namespace cuda_twin
