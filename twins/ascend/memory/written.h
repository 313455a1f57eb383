// Which bytes of a range were written: one bit for each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ascend_twin {

/// From any thread; bits of bytes that two threads write at once are set by both.
class Written {
 public:
  /// None, or all of it (memory that the host can write to).
  explicit Written(std::uint64_t bytes, bool all = false);
  ~Written();
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  void mark(std::uint64_t offset, std::uint64_t bytes);
  /// These bytes are as if they were never written.
  void clear(std::uint64_t offset, std::uint64_t bytes);
  /// These bytes are as written as those of `from` at that offset.
  void copy(std::uint64_t offset, const Written& from, std::uint64_t from_offset,
            std::uint64_t bytes);
  /// Offset of the first byte of these that was never written; kNone if all were.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t first_unwritten(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  void set(std::uint64_t offset, std::uint64_t bytes, bool written);

  unsigned char* bits_ = nullptr;  ///< null: all written
  std::uint64_t mapped_ = 0;
};

}  // namespace ascend_twin
