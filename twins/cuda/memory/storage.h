// Host memory behind device addresses: committed page by page when it is first touched, with
// content that is no accident.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/races/cells.h"

namespace cuda_twin {

/// Every byte of fresh storage is this: a float of it is no number, an index of it is far away.
inline constexpr unsigned char kPoison = 0xFF;

/// Storage of one allocation: bytes, a bitmap of those that were written, cells of the race checks.
class Storage {
 public:
  /// Poisoned and unwritten, or zeros that count as written. Null if the host has no memory.
  enum class Fill : std::uint8_t { kUnwritten, kZeros };
  static std::shared_ptr<Storage> make(std::uint64_t bytes, Fill fill = Fill::kUnwritten);
  explicit Storage(std::uint64_t bytes) : cells_(bytes) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t* written() const { return written_; }
  GlobalCells* cells() { return &cells_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t* written_ = nullptr;
  std::uint64_t mapped_ = 0;    ///< bytes of the mapping that has both
  std::uint64_t poisoned_ = 0;  ///< bytes of it that are mapped to poison
  GlobalCells cells_;
};

/// Cells for host memory that a device uses.
struct HostCells {
  explicit HostCells(std::uint64_t bytes) : cells(bytes) {}
  GlobalCells cells;
};

/// Addresses that fault when the host touches them. They come from large reservations; the oldest
/// of these that has no live range is given back when there are many.
class AddressRanges {
 public:
  AddressRanges();
  ~AddressRanges();
  AddressRanges(const AddressRanges&) = delete;
  AddressRanges& operator=(const AddressRanges&) = delete;

  /// 0 if the process has no address space left. `alignment` is a power of two.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment);
  void give_back(std::uint64_t address);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuda_twin
