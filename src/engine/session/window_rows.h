// The rows of sequences in the caches of layers with windows: blocks go back as the windows move
// on. Sequences go on where all rows of their windows are there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/session/sequence_replacement.h"
#include "engine/session/window_cache.h"

namespace shunt {

/// Blocks of a sequence in the cache of a window, in order.
struct WindowTable {
  std::int64_t first = 0;  ///< the number of the first of them among the sequence's blocks
  std::span<const std::int64_t> blocks = {};
};

class WindowRows {
 public:
  struct Window {
    std::int64_t tokens = 0;  ///< that a token sees, with itself
    std::int64_t rows = 0;    ///< of its cache: window_rows()
  };
  /// The pool must outlive this.
  WindowRows(BlockPool& pool, std::int64_t sequences, std::span<const Window> windows);

  /// WindowCache::set_host_slots() of each window.
  void set_host_slots(std::int64_t slots);

  std::int64_t windows() const { return std::ssize(caches_); }
  /// The number of a sequence's first tokens that need no step, once steps under way have ended.
  std::int64_t position(std::int64_t sequence) const { return sequences_[sequence].position; }
  /// Whether a sequence can go on from its first `position` tokens: each window, or the host, has
  /// the rows that the next one sees.
  bool covers(std::int64_t sequence, std::int64_t position) const;
  /// Goes on from the last position up to `most` where it can, if that is more and the pool has the
  /// rows of all tokens before, or will have them. Copies from the host may become pending.
  void advance(std::int64_t sequence, std::int64_t most);
  /// Goes on from a position that covers() is true for.
  void go_on(std::int64_t sequence, std::int64_t position);

  /// Before the steps of a call: goes on from the last position up to `most` where it can.
  void open(std::int64_t sequence, std::int64_t most);
  /// Until the next call of this, the rows of a position that covers() is true for stay: after an
  /// error the sequence can go back to it.
  void keep_start(std::int64_t sequence, std::int64_t position);
  /// Begins a step that continues a sequence up to token `end`. Later calls assume its success.
  /// InvalidArgument if a cache has no block left.
  Status begin(std::int64_t sequence, std::int64_t end);
  /// Between begin() and pass(): the blocks that the step reads and writes.
  WindowTable table(std::int64_t window, std::int64_t sequence) const;
  /// All sequences of a step have begun. Blocks that later steps do not see are given back: a step
  /// that is started later writes them after this step has read them.
  void pass();
  /// The first step that has begun for a sequence, and has not ended, has ended.
  void finish(std::int64_t sequence);
  /// Steps that have begun, and have not ended, will not. Call it before anything else after an
  /// error.
  void abandon();

  /// After the sequence's last tokens have gone.
  void truncate(std::int64_t sequence);
  /// After BlockPool::fork().
  void fork(std::int64_t from, std::int64_t to);
  /// All content is lost, but for that of the host.
  void clear();

  /// The copies from and to the host, by window, to make before blocks are read or written, in this
  /// order.
  std::span<const BlockCopy> pending(std::int64_t window) const { return cache(window).pending(); }
  /// The first of them has been made.
  void mark_copied(std::int64_t window) { caches_[window].mark_copied(); }
  /// Whether some of them are to blocks, which steps under way may read.
  bool writes_pending() const;
  /// Rows of blocks that the pool is about to copy to the host go there, too.
  void follow_to_host();

  /// The rows to copy in a window's cache along with a pending copy of the pool; none if the cache
  /// has none of them. After that, copied() is to be called.
  std::optional<BlockCopy> copy(std::int64_t window, const BlockCopy& of_pool);
  void copied(std::int64_t window, const BlockCopy& of_pool);

  /// The block of a window's cache with rows of a block of the pool; -1: there is none.
  std::int64_t find(std::int64_t window, std::int64_t of) const { return cache(window).find(of); }
  std::int64_t window(std::int64_t number) const { return cache(number).window(); }
  /// Makes room for the rows that a token of a sequence at `position` sees, while no step is under
  /// way: by window, the rows to write. finish() follows once they are, abandon() if they can't be.
  Result<std::vector<std::vector<MissingRows>>> restore(std::int64_t sequence,
                                                        std::int64_t position);

  /// For tests: the number of blocks that a sequence or a step holds.
  std::int64_t held(std::int64_t window) const { return cache(window).held(); }

 private:
  /// Blocks of a cache that are held for a sequence.
  struct Held {
    std::int64_t first = 0;  ///< among those of the sequence
    std::vector<std::int64_t> blocks = {};
  };
  struct Sequence {
    std::int64_t position = 0;
    std::int64_t start = 0;           ///< the position of keep_start()
    std::vector<Held> now = {};       ///< by window: blocks of the position, and of a step
    std::vector<Held> at_start = {};  ///< by window: those of `start`
  };
  /// Rows that a step writes.
  struct Writing {
    std::int64_t window = 0;
    WindowBlock block = {};
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  struct Step {
    std::int64_t sequence = 0;
    std::vector<Writing> writing = {};
  };

  const WindowCache& cache(std::int64_t window) const { return caches_[window]; }
  bool has(std::int64_t sequence, std::int64_t position) const;
  std::int64_t find_position(std::int64_t sequence, std::int64_t least, std::int64_t most) const;
  void hold(std::int64_t window, std::int64_t sequence, std::int64_t position, Held& held);
  void release(std::int64_t window, Held& held);
  void restart(std::int64_t sequence, std::int64_t most);
  Status take(std::int64_t window, std::int64_t sequence, std::int64_t start, std::int64_t end,
              std::vector<Writing>& writing);
  void forget_start(std::int64_t sequence);

  BlockPool& pool_;
  IndexedVector<std::int64_t, WindowCache> caches_;
  PerSequence<Sequence> sequences_;
  std::vector<Step> steps_;  // under way, in the order of their start
  // Going back needs no memory: lists of blocks of a position have room from the start.
  Held spare_;
  std::vector<std::int64_t> pinned_;  // slots of the host
};

}  // namespace shunt
