// All memory that the twin handed out: an address leads to its range, and to the place where the
// twin reads and writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ascend/call.h"
#include "ascend/memory/arena.h"
#include "ascend/memory/written.h"

namespace ascend_twin {

/// Fresh memory and the tail of each allocation: FP16 and FP32 of it are no numbers, an index is
/// far away. Of a large allocation only the first and last kPoisonedAtMost bytes are filled.
inline constexpr unsigned char kPoison = 0xFF;
inline constexpr std::uint64_t kPoisonedAtMost = 1 << 20;
inline constexpr std::uint64_t kTail = 32;

enum class MemoryKind : std::uint8_t {
  kDevice,      ///< aclrtMalloc
  kHost,        ///< aclrtMallocHost
  kRegistered,  ///< aclrtHostRegister
  kReserved,    ///< aclrtReserveMemAddress; found where physical memory is mapped into it
};

/// One live range. `host` is the twin's own pointer to its first byte; it equals `begin` where the
/// host may touch the memory.
struct Range {
  std::uintptr_t begin = 0;
  std::uint64_t bytes = 0;     ///< as asked for
  std::uint64_t reserved = 0;  ///< with round-up and tail
  std::byte* host = nullptr;
  MemoryKind kind = MemoryKind::kDevice;
  std::atomic<std::int32_t> device{0};  ///< of a reservation: of what is mapped into it
  std::uint64_t number = 0;             ///< of the allocation, for messages
  std::shared_ptr<Written> written;
  std::shared_ptr<void> block;           ///< of the host: freed when no task uses it any more
  std::atomic<std::uint32_t> queued{0};  ///< tasks in queues that use it (strict mode)
  struct Mapped {
    std::uint64_t end = 0;
    std::uint64_t number = 0;  ///< as of an allocation: each mapping is new memory
  };
  std::map<std::uint64_t, Mapped> mapped;  ///< of kReserved, by offset; under the mutex
  bool is_device() const { return kind == MemoryKind::kDevice || kind == MemoryKind::kReserved; }
  bool is_pinned() const { return kind == MemoryKind::kHost || kind == MemoryKind::kRegistered; }
};

/// Result of a look-up. Without a range, `why` says whether the address is freed, foreign or
/// beyond an end ("12 bytes past the end of allocation 3 of 64 bytes").
struct Found {
  std::shared_ptr<Range> range;
  std::byte* host = nullptr;
  std::string why;
};

/// Physical memory of a device, for virtual memory: a piece of the file of its arena. It is given
/// back with this.
class Block {
 public:
  Block(std::int32_t device, int file, std::uint64_t offset, std::uint64_t bytes)
      : device_(device), file_(file), offset_(offset), bytes_(bytes) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  int file() const { return file_; }
  std::uint64_t offset() const { return offset_; }

 private:
  std::int32_t device_;
  int file_;
  std::uint64_t offset_, bytes_;
};

/// Thread-safe. Ranges are shared: one that is freed while a task uses it stays readable for the
/// twin, so that the bug shows as a message and not as a crash of the twin.
class Space {
 public:
  /// Memory of a device, aligned to 64 and no better, of a size that is rounded up to 32. `padded`:
  /// a tail of 32 bytes follows, as aclrtMalloc does. 207001 if the device is full.
  Status allocate(std::int32_t device, std::uint64_t bytes, bool padded, void** address);
  /// Pinned memory of the host, aligned to 64 and no better. Where host and device have one memory,
  /// it is the device's, and its address is 16 modulo 32.
  Status allocate_host(std::int32_t device, std::uint64_t bytes, void** address);
  /// Without an address; 207001 if the device is full.
  Status allocate_block(std::int32_t device, std::uint64_t bytes, std::shared_ptr<Block>* block);
  void release_block(std::int32_t device, std::uint64_t offset, std::uint64_t bytes);
  /// `begin` must be that of a live range of this kind. Says in `why` if the tail was overwritten.
  Status release(const void* begin, MemoryKind kind);

  /// A range that others made (registered, reserved); false if it overlaps one.
  bool add(const std::shared_ptr<Range>& range);
  std::shared_ptr<Range> remove(const void* begin, MemoryKind kind);

  /// The live range that has the address; null if none.
  std::shared_ptr<Range> range_of(const void* address) const;
  /// Of the allocation, or of the mapping in a reservation; 0 if there is none.
  std::uint64_t number_at(const void* address) const;
  /// Parts of a reservation become memory, or none again.
  void map(Range& reservation, std::uint64_t offset, std::uint64_t end);
  void unmap(Range& reservation, std::uint64_t offset);
  /// All of these bytes in one range, where devices reach it: not pinned memory that is the host's.
  Found find(const void* address, std::uint64_t bytes) const;
  /// For copies: memory that the twin does not know is the host's own, and is its own working
  /// pointer. An address in a device's region without a live range is refused.
  Found find_any(const void* address, std::uint64_t bytes) const;
  bool is_device_region(const void* address) const;

  std::uint64_t free_bytes(std::int32_t device) const;

  /// The live ranges, for leaks at finalize.
  std::vector<std::shared_ptr<Range>> all() const;
  /// Everything is dropped.
  void clear();

 private:
  struct Device {
    std::unique_ptr<Arena> arena;
    std::uint64_t used = 0;
  };
  struct Freed {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t number = 0;
    bool is_host = false;  ///< the system may have given the address to somebody else
  };
  bool fits(const Device& device, std::uint64_t bytes) const;
  /// A block of the device's memory, counted; 207001 if there is none. Under the mutex.
  Status take(std::int32_t device, std::uint64_t bytes, std::uint64_t alignment,
              std::uint64_t remainder, Range& range);
  Found find_in(const std::shared_ptr<Range>& range, std::uintptr_t at, std::uint64_t bytes) const;
  Device* device_of(std::int32_t device);  ///< under the mutex; makes the arena

  mutable std::mutex mutex_;
  std::map<std::int32_t, Device> devices_;
  std::map<std::uintptr_t, std::shared_ptr<Range>> ranges_;  ///< by first address
  std::deque<Freed> freed_;
  std::uint64_t numbers_ = 0;
};

Space& space();

/// Where a tail was overwritten; kTail if nowhere.
std::uint64_t damaged_tail_byte(const Range& range);

}  // namespace ascend_twin
