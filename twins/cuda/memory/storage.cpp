#include "cuda/memory/storage.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>

namespace cuda_twin {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSmall = 128 << 10;  // filled at once
// A file of poison is mapped again and again. The system has a limit of mappings (65,530 by
// default), so that the windows are the larger the more memory there is.
constexpr std::uint64_t kSmallestWindow = 16ULL << 20;
constexpr std::uint64_t kLargestWindow = 256ULL << 20;
constexpr std::uint64_t kWindows = 16384;

std::atomic<std::uint64_t> poisoned_bytes{0};  // of all storage

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
  const std::uint64_t wanted = std::bit_ceil(poisoned_bytes.load() / kWindows);
  const std::uint64_t window = std::min(bytes, std::clamp(wanted, kSmallestWindow, kLargestWindow));
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

std::shared_ptr<Storage> Storage::make(std::uint64_t bytes, Fill fill) {
  if (bytes > std::uint64_t{1} << 46) return nullptr;
  const std::uint64_t data_bytes = round_up(std::max<std::uint64_t>(bytes, 1), kPage);
  const std::uint64_t bitmap_bytes = round_up(data_bytes / 8 + 8, kPage);
  const std::uint64_t map_bytes = data_bytes + bitmap_bytes;
  void* const mapped = ::mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto storage = std::make_shared<Storage>(data_bytes);
  storage->data_ = static_cast<std::byte*>(mapped);
  storage->written_ = reinterpret_cast<std::uint64_t*>(storage->data_ + data_bytes);
  storage->mapped_ = map_bytes;
  // A fresh mapping is zeros already. In the bitmap poison means that all is written.
  const bool zeros = fill == Fill::kZeros;
  std::byte* const at = storage->data_ + (zeros ? data_bytes : 0);
  const std::uint64_t count = zeros ? bitmap_bytes : data_bytes;
  if (count <= kSmall) {
    std::memset(at, kPoison, zeros ? count : bytes);
    return storage;
  }
  storage->poisoned_ = count;
  poisoned_bytes += count;
  return map_poison(at, count) ? storage : nullptr;
}

Storage::~Storage() {
  poisoned_bytes -= poisoned_;
  if (data_ != nullptr) ::munmap(data_, mapped_);
}

}  // namespace cuda_twin
