// The cache of layers in which a token sees only the last tokens. It has fewer blocks than the
// pool, and gives each of them to a block of the pool whose rows are in use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/indexed_vector.h"
#include "engine/session/block_pool.h"

namespace shunt {

/// A block of the cache, and the use of it by a block of the pool.
struct WindowBlock {
  std::int64_t block = -1;
  std::uint64_t stamp = 0;  ///< another one each time that the block is given away
};

/// A block is of a block of the pool, with the content that has then (BlockPool::content()). Blocks
/// that are held stay. The others keep their rows until room is needed, least recently held first.
class WindowCache {
 public:
  /// The pool must outlive this.
  WindowCache(const BlockPool& pool, std::int64_t window, std::int64_t blocks);

  /// The number of last tokens that a token sees, with itself.
  std::int64_t window() const { return window_; }
  std::int64_t block_count() const { return std::ssize(blocks_); }
  /// Whether each block of the pool has a block of its own, with the same number.
  bool has_all() const { return block_count() == pool_.block_count(); }
  /// The number of first rows of a block of the pool that are in the cache.
  std::int64_t rows(std::int64_t of) const;
  /// The block with these rows; -1: there are none.
  std::int64_t find(std::int64_t of) const { return rows(of) > 0 ? block_of_[of] : -1; }
  /// Whether the rows that a token at `position` sees of those before it are in the cache.
  /// `blocks`: BlockPool::blocks() of its sequence.
  bool covers(std::span<const std::int64_t> blocks, std::int64_t position) const {
    return last_covered(blocks, position - 1, position) == position;
  }
  /// The last position for which this holds: `most` or an end of a block before it. `least` if
  /// there is none after that.
  std::int64_t last_covered(std::span<const std::int64_t> blocks, std::int64_t least,
                            std::int64_t most) const;

  /// A block for rows of a block of the pool: the one that has some, else one that is not held.
  /// InvalidArgument if there is none.
  Result<WindowBlock> take(std::int64_t of);
  void hold(std::int64_t block);
  void release(std::int64_t block);
  /// The first `rows` rows of the block of the pool are there now.
  void add_rows(const WindowBlock& block, std::int64_t rows);
  /// Rows from `rows` on may have been overwritten.
  void lose_rows(const WindowBlock& block, std::int64_t rows);
  /// After tokens of a block of the pool have gone: knows the rows of the others still, even if
  /// more tokens go before it is taken again.
  void follow(std::int64_t of);
  /// All content is lost. Nothing is held.
  void clear();

  /// For tests: the number of blocks that are held.
  std::int64_t held() const;

 private:
  struct Block {
    std::int64_t of = -1;  ///< block of the pool
    std::uint64_t content = 0;
    std::int64_t rows = 0;
    std::int64_t users = 0;
    std::uint64_t stamp = 0;
    std::int64_t before = -1;  ///< in the list of blocks that are not held; -1: it is the first
    std::int64_t after = -1;   ///< -1: it is the last
  };

  bool is_stale(const Block& block) const;
  void add_to_list(std::int64_t block, bool is_next);
  void remove_from_list(std::int64_t block);

  const BlockPool& pool_;
  const std::int64_t window_;
  IndexedVector<std::int64_t, Block> blocks_;
  IndexedVector<std::int64_t, std::int64_t> block_of_;  // by block of the pool; -1: none
  std::int64_t first_ = -1;  // that is not held; the next to be given away
  std::int64_t last_ = -1;
  std::uint64_t next_stamp_ = 1;
};

}  // namespace shunt
