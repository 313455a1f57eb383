// The memory of one device: pages of a file that are mapped twice. Addresses of the first mapping
// are handed out, and fault when the host touches them; the twin works through the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace ascend_twin {

/// Not thread-safe: Space locks. With `one_memory` both mappings are one, which the host may use.
class Arena {
 public:
  /// Null if the process has no address space left.
  static std::unique_ptr<Arena> make(std::uint64_t bytes, bool one_memory);
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  /// Offset of a block whose offset is `remainder` modulo `alignment` (a power of two); kNone if
  /// there is no gap of this size. First fit.
  std::uint64_t take(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t remainder);
  /// The block at this offset, as taken. Its whole pages go back to the system.
  void give_back(std::uint64_t offset);

  bool has(const std::byte* working) const {
    return working >= working_ && working < working_ + bytes_;
  }
  std::uintptr_t address(std::uint64_t offset) const { return handed_out_ + offset; }
  std::byte* working(std::uint64_t offset) const { return working_ + offset; }
  std::uint64_t bytes() const { return bytes_; }
  /// The file and its offsets are those of blocks: virtual memory maps them again.
  int file() const { return file_; }

 private:
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  std::uintptr_t handed_out_ = 0;
  std::byte* working_ = nullptr;
  bool one_memory_ = false;
  std::map<std::uint64_t, std::uint64_t> taken_;  ///< offset to end
};

}  // namespace ascend_twin
