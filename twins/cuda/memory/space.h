// Device memory: ranges of addresses that the host cannot touch, each with storage elsewhere. One
// Space serves all devices of the process (unified addressing); an Extent knows its device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cuda_twin {

class GlobalCells;
class WorkOrder;  // races/work_order.h

enum class MemoryKind : std::uint8_t { kDevice, kPinned, kRegistered, kManaged, kMapped, kModule };

/// One live range of addresses.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;    ///< as asked for
  std::byte* data = nullptr;  ///< storage of `begin`
  std::uint64_t* written =
      nullptr;  ///< a bit a byte: written since it was allocated; null: all are (host memory)
  GlobalCells* cells = nullptr;    ///< of races/global.h; shared by all addresses of one storage
  std::uint64_t cells_offset = 0;  ///< of `begin` in the cells
  std::uint64_t number = 0;        ///< of the allocation, from 1: in messages
  int device = 0;
  MemoryKind kind = MemoryKind::kDevice;
  bool read_only = false;
  std::uint32_t granted = 0;            ///< kMapped: bit d: device d may use it
  std::string name;                     ///< of a module's variable, or ""
  std::shared_ptr<const void> backing;  ///< keeps data, written and cells alive
  std::uint64_t end() const { return begin + bytes; }
  /// A variable in .const.
  bool is_constant() const { return kind == MemoryKind::kModule && read_only; }
};
using ExtentPtr = std::shared_ptr<const Extent>;

/// Thread-safe. Freed addresses are not given out again soon, so that their use is noticed.
class Space {
 public:
  Space();
  ~Space();
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  /// A new range, aligned to `alignment` (a power of two), poisoned and unwritten. Nothing if the
  /// host has no memory. kPinned and kManaged memory has the address of its storage, so that the
  /// host may use it, and counts as written.
  ExtentPtr allocate(std::uint64_t bytes, std::uint64_t alignment, int device, MemoryKind kind);
  /// The same for a module's variable: zeros that count as written, with its name in messages, and
  /// read-only if it is .const.
  ExtentPtr allocate_variable(std::uint64_t bytes, std::uint64_t alignment, int device,
                              std::string name, bool read_only);
  /// Host memory that devices may use at its own address.
  ExtentPtr adopt(void* host, std::uint64_t bytes, int device, MemoryKind kind,
                  bool read_only = false);
  /// Addresses without storage (cuMemAddressReserve), and storage without addresses (cuMemCreate)
  /// shown at an address.
  std::shared_ptr<Extent> create(std::uint64_t bytes, int device);
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wish);
  void unreserve(std::uint64_t address, std::uint64_t bytes);
  ExtentPtr map(std::uint64_t address, const std::shared_ptr<Extent>& storage, std::uint64_t offset,
                std::uint64_t bytes);
  /// The same instead of the extent that begins there, if one does: at no time is there none.
  ExtentPtr replace(std::uint64_t address, const std::shared_ptr<Extent>& storage,
                    std::uint64_t offset, std::uint64_t bytes);
  /// False if no extent begins there.
  bool remove(std::uint64_t begin);

  /// The extent that holds `address`, or null.
  ExtentPtr find(std::uint64_t address) const;
  /// Changes with every allocate, adopt, map and remove: a cached result of find() holds while it
  /// stays.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// About an address that is in no extent: "0x7f..40 is 16 bytes past the end of allocation 3
  /// (1024 bytes)", or freed, or unknown.
  std::string describe(std::uint64_t address, std::uint64_t bytes) const;
  /// "4 bytes into allocation 3 (1024 bytes)", or of a module's variable "... into variable x".
  static std::string place(const Extent& extent, std::uint64_t address);

  /// The order of the pieces of work that use this memory.
  WorkOrder& works() const { return *works_; }

 private:
  struct State;
  ExtentPtr place_fresh(const std::shared_ptr<Extent>& extent, std::uint64_t alignment);

  std::unique_ptr<State> state_;
  std::unique_ptr<WorkOrder> works_;
  std::atomic<std::uint64_t> generation_{1};
};

/// The last extents that a host thread used. It holds them while they are in it.
struct ExtentCache {
  struct Entry {
    std::uint64_t begin = 0, end = 0;
    ExtentPtr extent;
  };
  std::uint64_t generation = 0;
  Entry entries[8];
};

/// Bits of Extent::written and its like. A null `bits` has all written.
bool all_written(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count);
void set_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count);
void clear_written(std::uint64_t* bits, std::uint64_t first, std::uint64_t count);
/// Distance from `first` to the first unwritten byte; `count` if there is none.
std::uint64_t first_unwritten(const std::uint64_t* bits, std::uint64_t first, std::uint64_t count);
/// For a copy of memory: bytes that were not written at the source are not at the destination.
void copy_written(std::uint64_t* to, std::uint64_t to_first, const std::uint64_t* from,
                  std::uint64_t from_first, std::uint64_t count);

}  // namespace cuda_twin
