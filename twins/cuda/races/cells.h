// Cells that remember the last accesses to each piece of memory: the last write, and two reads, the
// first and the last of those that nothing orders. The instructions scan them in loops over lanes
// (instructions/race_loops.h).
//
// An access is a 64-bit number ("mark"), 0 for none. Its lowest bits are the same everywhere:
//   bit 0: write; bit 1: strong (atom, red, volatile, relaxed, ...); bits 2 to 6: lane.
// Higher bits belong to races/shared.h and races/global.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cuda_twin {

using Mark = std::int64_t;  // signed, as all vector units compare signed numbers; never negative
inline constexpr Mark kMarkWrite = 1;
inline constexpr Mark kMarkStrong = 2;
inline constexpr unsigned kMarkLaneShift = 2;
inline constexpr unsigned kMarkOwnShift = 7;

/// Whether two accesses are a race if nothing orders them.
inline bool conflict(Mark a, Mark b) {
  return ((a | b) & kMarkWrite) != 0 && (a & b & kMarkStrong) == 0;
}

inline constexpr unsigned kCellPageBytes = 1024;
/// Cells of a fresh page have 1 << kCoarsest bytes. Few accesses of a lane are wider.
inline constexpr unsigned kCoarsest = 4;

/// The largest cells whose borders are at both of these bytes: 1 << result bytes.
inline unsigned cell_shift_for(std::uint64_t first, std::uint64_t end) {
  return static_cast<unsigned>(std::countr_zero(first | end | std::uint64_t{1} << kCoarsest));
}

/// The cells of 1 KiB. A cell stands for 16 bytes, or fewer once a shorter access came: an access
/// is to all bytes of its cells.
class CellPage {
 public:
  CellPage();

  /// Bytes of a cell: 1 << shift.
  unsigned shift() const { return shift_; }
  /// Makes cells of 1 << shift bytes, if they are larger.
  void refine(unsigned shift);
  void clear();
  /// A write or a read of bytes [first, end). Accesses with marks below `limit` are ordered before.
  void cover(std::uint64_t first, std::uint64_t end, Mark mark, Mark limit);

  unsigned size() const { return kCellPageBytes >> shift_; }
  Mark* writes() { return marks_.data(); }
  Mark* reads() { return marks_.data() + size(); }
  /// The last reads; valid if has_others().
  Mark* others() { return others_.data(); }
  bool has_others() const { return !others_.empty(); }
  void make_others() { others_.resize(size()); }

  // For global memory.
  void lock() {
    while (locked.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { locked.store(false, std::memory_order_release); }
  std::atomic<bool> locked{false};
  CellPage* next = nullptr;      ///< of all pages of an allocation
  std::uint64_t generation = 0;  ///< of the numbers of work in the marks
  std::uint64_t covers = 0;      ///< number of the last cover that is in the cells
  /// No write, and no read, of the page has a larger mark: mostly all are ordered before an access
  /// because these are.
  Mark newest_write = 0, newest_read = 0;
  void note(Mark mark) {
    Mark& newest = (mark & kMarkWrite) != 0 ? newest_write : newest_read;
    if (mark > newest) newest = mark;
  }

 private:
  static void wait();

  unsigned shift_ = kCoarsest;
  std::vector<Mark> marks_;  ///< writes, then reads
  std::vector<Mark> others_;
};

/// Locks a page while it is in scope.
class PageLock {
 public:
  explicit PageLock(CellPage& page) : page_(page) { page_.lock(); }
  ~PageLock() { page_.unlock(); }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

 private:
  CellPage& page_;
};

/// Cells of one allocation, a page of them made on first use. Thread-safe; a page is used under its
/// lock.
class GlobalCells {
 public:
  explicit GlobalCells(std::uint64_t bytes);
  ~GlobalCells();
  GlobalCells(const GlobalCells&) = delete;
  GlobalCells& operator=(const GlobalCells&) = delete;

  /// The page that has byte `offset`; null if there is no memory for it.
  CellPage* page(std::uint64_t offset);
  /// The same if it exists, else null.
  CellPage* existing_page(std::uint64_t offset) const;

  /// Held while a copy or a fill compares its range and marks it: of two that run at once, the
  /// second one sees the first.
  std::mutex& copying() { return copying_; }

  /// An access to a range by a copy or a fill. Pages take it over when they are next used.
  struct Cover {
    std::uint64_t begin = 0, end = 0, generation = 0;
    Mark mark = 0;
    Mark limit = 0;            ///< accesses with marks below this are ordered before
    std::uint64_t number = 0;  ///< in order, from 1
  };
  /// Those that it makes needless go: all that races with them races with it. `is_before` says
  /// whether an access is ordered before this one.
  template <class IsBefore>
  void add_cover(const Cover& cover, IsBefore is_before) {
    const std::lock_guard lock(mutex_);
    const bool write = (cover.mark & kMarkWrite) != 0;
    std::erase_if(covers_, [&](const Cover& old) {
      const bool inside = old.begin >= cover.begin && old.end <= cover.end;
      return old.generation < cover.generation ||
             (old.generation == cover.generation && inside &&
              (write || (old.mark & kMarkWrite) == 0) && is_before(old.mark));
    });
    append_cover(cover);
  }
  /// The mark of the first cover for which `test` holds, or 0.
  template <class Test>
  Mark find_cover(Test test) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(covers_.begin(), covers_.end(), test);
    return found == covers_.end() ? 0 : found->mark;
  }
  /// Whether a locked page has all covers.
  bool is_current(const CellPage& page) const {
    return page.covers == last_cover_.load(std::memory_order_acquire);
  }
  /// Takes over the covers that a locked page lacks.
  void catch_up(CellPage& page, std::uint64_t offset) {
    if (!is_current(page)) take_covers(page, offset);
  }

 private:
  using Table = std::atomic<CellPage*>;
  void take_covers(CellPage& page, std::uint64_t offset);
  void append_cover(const Cover& cover);
  Table* table();

  std::uint64_t count_ = 0;
  std::atomic<Table*> pages_{nullptr};  ///< made on first use
  std::atomic<CellPage*> all_{nullptr};
  std::mutex copying_;  // locked before mutex_
  mutable std::mutex mutex_;
  std::vector<Cover> covers_;
  std::atomic<std::uint64_t> last_cover_{0};  ///< number
};

}  // namespace cuda_twin
