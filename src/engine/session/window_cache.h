// The cache of layers in which a token sees only the last tokens. It has fewer blocks than the
// pool, and gives each of them to a block of the pool whose rows are in use. Slots of the host keep
// whole blocks whose place was given to others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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

  /// From now on `slots` slots of the host keep the rows of whole blocks. No copies may be pending.
  void set_host_slots(std::int64_t slots);

  /// The number of last tokens that a token sees, with itself.
  std::int64_t window() const { return window_; }
  std::int64_t block_count() const { return std::ssize(blocks_); }
  /// Whether each block of the pool has a block of its own, with the same number.
  bool has_all() const { return block_count() == pool_.block_count(); }
  /// The number of first rows of a block of the pool that are in the cache.
  std::int64_t rows(std::int64_t of) const;
  /// The same once the pending copies have been made.
  std::int64_t promised(std::int64_t of) const;
  /// The same with those that a slot of the host has.
  std::int64_t within_reach(std::int64_t of) const;
  /// The block with these rows; -1: there are none.
  std::int64_t find(std::int64_t of) const { return rows(of) > 0 ? block_of_[of] : -1; }
  /// Whether the rows that a token at `position` sees of those before it are within reach.
  /// `blocks`: BlockPool::blocks() of its sequence.
  bool covers(std::span<const std::int64_t> blocks, std::int64_t position) const {
    return last_covered(blocks, position - 1, position) == position;
  }
  /// The last position for which this holds: `most` or an end of a block before it. `least` if
  /// there is none after that.
  std::int64_t last_covered(std::span<const std::int64_t> blocks, std::int64_t least,
                            std::int64_t most) const;
  /// Whether these rows are in the cache, or will be once the pending copies have been made.
  bool has(std::span<const std::int64_t> blocks, std::int64_t position) const;

  /// A block for rows of a block of the pool: the one that has some, else one that is not held.
  /// InvalidArgument if there is none.
  Result<WindowBlock> take(std::int64_t of);
  /// The block with the first `rows` rows of a block of the pool, which are within reach. A copy
  /// from the host becomes pending if the cache has fewer. -1: there is none, and none to take.
  std::int64_t bring_back(std::int64_t of, std::int64_t rows);
  /// The slot of the host with the first `rows` rows of a block of the pool, which is pinned: they
  /// stay until bring_back(). -1: the cache has or gets them, or no slot has them.
  std::int64_t pin_slot(std::int64_t of, std::int64_t rows);
  void unpin_slot(std::int64_t slot) { slots_.unpin(slot, HostBlocks::Order::kLast); }
  void hold(std::int64_t block);
  void release(std::int64_t block);
  /// The first `rows` rows of the block of the pool are there now.
  void add_rows(const WindowBlock& block, std::int64_t rows);
  /// Rows from `rows` on may have been overwritten.
  void lose_rows(const WindowBlock& block, std::int64_t rows);
  /// After tokens of a block of the pool have gone: knows the rows of the others still, even if
  /// more tokens go before it is taken again.
  void follow(std::int64_t of);
  /// A block of the pool has moved to the host: so do its rows here.
  void follow_to_host(std::int64_t of);
  /// All content is lost, but for that of the host. Nothing is held.
  void clear();

  /// The copies to make before blocks are read or written, in this order: from a block to a slot of
  /// the host, or from a slot to a block.
  std::span<const BlockCopy> pending() const { return pending_; }
  /// The first of them has been made.
  void mark_copied();

  /// For tests: the number of blocks that are held.
  std::int64_t held() const;

 private:
  struct Block {
    std::int64_t of = -1;  ///< block of the pool
    std::uint64_t content = 0;
    std::int64_t rows = 0;
    std::int64_t promised = 0;  ///< by the pending copy to it
    std::int64_t users = 0;
    std::uint64_t stamp = 0;
    std::int64_t before = -1;  ///< in the list of blocks that are not held; -1: it is the first
    std::int64_t after = -1;   ///< -1: it is the last
  };

  /// A slot, and the number of first rows in it that are of a block of the pool.
  struct HostCopy {
    std::int64_t slot = -1;
    std::int64_t rows = 0;
  };

  bool is_stale(const Block& block) const;
  std::int64_t rows_of(std::int64_t of, std::uint64_t content, std::int64_t rows) const;
  HostCopy in_host(std::int64_t of) const;
  void save(std::int64_t block);
  void cancel_copy_to(std::int64_t block);
  void add_to_list(std::int64_t block, bool is_next);
  void remove_from_list(std::int64_t block);

  const BlockPool& pool_;
  const std::int64_t window_;
  IndexedVector<std::int64_t, Block> blocks_;
  IndexedVector<std::int64_t, std::int64_t> block_of_;  // by block of the pool; -1: none
  std::int64_t first_ = -1;  // that is not held; the next to be given away
  std::int64_t last_ = -1;
  std::uint64_t next_stamp_ = 1;
  HostBlocks slots_;  // by content
  // At most two of each block: it is saved, and then it gets rows of another one.
  std::vector<BlockCopy> pending_;
};

}  // namespace shunt
