// The tokens of sequences, and the blocks of the KV cache that hold them. Blocks are counted: a
// sequence that is forked shares them, and one that begins with the tokens of another finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/indexed_vector.h"
#include "engine/session/host_blocks.h"
#include "model/definition.h"
#include "shunt/error.h"

namespace shunt {

/// A value for each sequence of a session.
template <class T>
using PerSequence = IndexedVector<std::int64_t, T>;

struct BlockPoolOptions {
  std::int64_t sequences = 1;
  std::int64_t context = 1;  ///< tokens of all sequences, those in shared blocks once
  std::int64_t blocks = 1;   ///< of the cache; enough for that context
  /// Whether blocks are found by their tokens, and kept while no sequence has them.
  bool reuse = false;
  /// The hash by which blocks are found. Collisions cost time only: the tokens are compared.
  std::function<std::uint64_t(std::uint64_t parent, std::span<const std::int32_t> tokens)> hash =
      {};
};

/// The ends of a copy.
enum class CopyWay : std::uint8_t {
  kInCache,   ///< from a block to another one
  kToHost,    ///< from a block to a slot of the host
  kFromHost,  ///< from a slot to a block
};

/// Rows of a block to copy to the start of another one, before any step.
struct BlockCopy {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t rows = 0;
  CopyWay way = CopyWay::kInCache;

  bool is_to_block(std::int64_t block) const { return way != CopyWay::kToHost && to == block; }
  bool operator==(const BlockCopy&) const = default;
};

/// Copies of whole blocks that were made.
struct HostTraffic {
  std::int64_t saved = 0;     ///< to the host
  std::int64_t restored = 0;  ///< from it
};

/// The tokens that a block had, and those that are left.
struct FormerContent {
  std::uint64_t number = 0;
  std::int64_t rows = 0;  ///< the first ones, which the block has still
};

class BlockPool {
 public:
  static constexpr std::int64_t kBlock = kCacheBlock;

  explicit BlockPool(BlockPoolOptions options);
  /// From now on `slots` slots of the host keep the content of blocks that are given to others. No
  /// copies may be pending. What slots had before is lost.
  void set_host_slots(std::int64_t slots);

  std::int64_t length(std::int64_t sequence) const;
  std::span<const std::int32_t> tokens(std::int64_t sequence) const {
    return sequences_[sequence].tokens;
  }
  /// Block i has the rows of tokens from i * kBlock on.
  std::span<const std::int64_t> blocks(std::int64_t sequence) const {
    return sequences_[sequence].blocks;
  }
  /// The number of first tokens whose rows are in the cache.
  std::int64_t cached(std::int64_t sequence);
  /// The same once the pending copies have been made.
  std::int64_t promised(std::int64_t sequence);
  /// BlockPoolOptions::context.
  std::int64_t context() const { return options_.context; }
  /// Rows in use: those in shared blocks count once.
  std::int64_t taken() const { return taken_; }
  /// Blocks without a sequence whose content can be found.
  std::int64_t kept() const { return unused_; }

  std::int64_t block_count() const { return std::ssize(blocks_); }
  /// The number of sequences that have a block.
  std::int64_t users(std::int64_t block) const { return blocks_[block].users; }
  bool is_shared(std::int64_t block) const { return users(block) > 1; }
  /// The number of its first rows that are in the cache. Only tokens that are computed again for
  /// their states write them again, with the same values but for rounding.
  std::int64_t filled(std::int64_t block) const { return blocks_[block].filled; }
  /// The same once the pending copies have been made.
  std::int64_t promised_rows(std::int64_t block) const;
  /// A number that is another one once a block is free, or some of its tokens have gone. Adding
  /// tokens keeps it. Different contents have different numbers, none of them 0.
  std::uint64_t content(std::int64_t block) const { return blocks_[block].content; }
  /// The content that a block had before tokens in it went, and has the first of; number 0: none.
  FormerContent former(std::int64_t block) const { return blocks_[block].former; }
  /// Whether this block has the content with a number, or the host has: a block whose content comes
  /// back from there has the number again.
  bool has_content(std::int64_t block, std::uint64_t number) const {
    return content(block) == number || host_.has(number);
  }
  const HostBlocks& host() const { return host_; }
  HostTraffic host_traffic() const { return traffic_; }

  /// Adds tokens. With `share`, whole blocks of them that are known are shared, but never the last
  /// token's. A copy becomes pending if the sequence's last block is shared, or can be found: then
  /// it must not change. InvalidArgument if they do not fit; then none are added.
  Status append(std::int64_t sequence, std::span<const std::int32_t> tokens, bool share);
  /// Adds the first of the tokens that are known, in whole blocks; never the last one. Their
  /// number.
  std::int64_t append_known(std::int64_t sequence, std::span<const std::int32_t> tokens);
  /// Keeps the first `length` tokens.
  void truncate(std::int64_t sequence, std::int64_t length);
  /// Makes `to` the first `length` tokens of `from`, in the same blocks. They are two sequences.
  void fork(std::int64_t from, std::int64_t to, std::int64_t length);
  /// Blocks are found only by sequences of the same scope. Of an empty sequence.
  void set_scope(std::int64_t sequence, std::string scope);

  /// The rows of the first `length` tokens are in the cache now.
  void mark_cached(std::int64_t sequence, std::int64_t length);
  /// The copies to make before the next step, in this order.
  std::span<const BlockCopy> pending() const { return pending_; }
  /// The first pending copy has been made.
  void mark_copied();
  /// The cache has lost its content. Blocks in use that the host has come back from there.
  void lose_content();
  /// The same for the rows of a block from `rows` on.
  void lose_rows(std::int64_t block, std::int64_t rows);
  /// The host has lost the content of a slot. No copies may be pending.
  void lose_slot(std::int64_t slot) { host_.drop(slot); }
  /// A copy to go back to.
  BlockPool snapshot() const;
  /// Goes back to a snapshot. Contents that come later have other numbers than those in between.
  void go_back(BlockPool snapshot);

 private:
  struct Block : KnownBlock {
    std::int64_t users = 0;
    std::int64_t used = 0;    ///< rows with a token of a user
    std::int64_t filled = 0;  ///< rows whose content is in the cache
    std::int64_t most = 0;    ///< rows that have had a token of this content
    bool indexed = false;
    FormerContent former = {};
    std::int64_t before = -1;  ///< in the list of unused blocks; -1: it is the first
    std::int64_t after = -1;   ///< -1: it is the last
  };
  struct Sequence {
    std::vector<std::int32_t> tokens = {};
    std::vector<std::int64_t> blocks = {};
    std::int64_t cached = 0;  ///< at least so many
    std::string scope = {};
  };

  Block& at(std::int64_t block) { return blocks_[block]; }
  std::uint64_t parent_of(const Sequence& sequence, std::size_t block) const;
  std::int64_t find(const Sequence& sequence, std::uint64_t parent,
                    std::span<const std::int32_t> tokens) const;
  std::uint64_t hash_of(std::uint64_t parent, std::span<const std::int32_t> tokens) const;
  std::int64_t bring_back(const Sequence& sequence, std::uint64_t parent,
                          std::span<const std::int32_t> tokens);
  std::optional<std::int64_t> take();
  void move_to_host(std::int64_t block);
  void cancel_copies_to(std::int64_t block);
  void add_to_free(std::int64_t block);
  void add_to_unused(std::int64_t block);
  void remove_from_unused(std::int64_t block);
  void use(std::int64_t block);
  void release(std::int64_t block, std::size_t index);
  void recount(std::int64_t block, std::size_t index);
  void set_used(std::int64_t block, std::int64_t rows);
  void keep_rows(std::int64_t block, std::int64_t rows);
  void add_to_index(const Sequence& sequence, std::size_t block);
  void remove_from_index(std::int64_t block);
  Result<std::int64_t> make_last_writable(Sequence& sequence);
  Status add(Sequence& sequence, std::span<const std::int32_t> tokens, bool share,
             std::int64_t& left);
  void take_back(Sequence& sequence, std::int64_t number, std::int64_t length, std::int64_t left,
                 std::int64_t cached);
  static void reserve(Sequence& sequence, std::size_t more);
  bool share_next(Sequence& sequence, std::span<const std::int32_t> tokens);

  BlockPoolOptions options_;
  PerSequence<Sequence> sequences_;
  IndexedVector<std::int64_t, Block> blocks_;
  // Giving blocks back needs no memory: lists are as long as they ever get from the start.
  std::vector<std::int64_t> free_;  // without content: a heap, the lowest first
  std::int64_t first_unused_ = -1;  // with content; the next to go first
  std::int64_t last_unused_ = -1;
  std::int64_t unused_ = 0;
  std::unordered_multimap<std::uint64_t, std::int64_t> index_;  // by hash
  HostBlocks host_;
  HostTraffic traffic_;
  // At most one to each block. Of those from a block to the host there is one, too: rows that are
  // not copied yet do not leave it again.
  std::vector<BlockCopy> pending_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_content_ = 1;
  std::int64_t taken_ = 0;
};

}  // namespace shunt
