// Where the states of sequences are: in slots, of which a step reads one and writes one for each
// sequence. Some slots keep states as checkpoints, from which a sequence can go on later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/indexed_vector.h"
#include "engine/session/block_pool.h"

namespace shunt {

/// The slots of a step for a sequence.
struct SlotPair {
  std::int64_t source = 0;
  std::int64_t target = 0;
  bool operator==(const SlotPair&) const = default;
};

/// Where a prompt and its messages end, in tokens of the sequence. They may be beyond its tokens.
struct TextEnds {
  std::int64_t prompt = 0;                      ///< 0: not known
  std::span<const std::int64_t> messages = {};  ///< in any order
};

class StateSlots {
 public:
  /// The slot of zeros: the states before any token. Steps do not write it.
  static constexpr std::int64_t kZero = 0;
  /// Tokens between two checkpoints of a long text.
  static constexpr std::int64_t kDistance = 512;

  /// Checkpoints are of whole blocks of the pool, which must outlive this. None is valid once the
  /// content of its block has changed.
  StateSlots(BlockPool& pool, std::int64_t sequences, std::int64_t checkpoints);

  /// Sequences continue only from checkpoints that `condition` is true for, with the number of
  /// their tokens. Other layers may lack rows of their windows there. It is not called for 0
  /// tokens.
  void set_condition(std::function<bool(std::int64_t sequence, std::int64_t position)> condition) {
    condition_ = std::move(condition);
  }

  /// The number of first tokens that a sequence's states include, once steps under way have ended.
  std::int64_t position(std::int64_t sequence) const { return sequences_[sequence].position; }
  /// The end of the next step of a sequence that has `position` tokens in its states and `length`
  /// tokens in all: where a checkpoint is made, or all tokens. A prompt has one at its last whole
  /// block, and so has each of its messages.
  static std::int64_t step_end(std::int64_t position, std::int64_t length, const TextEnds& ends);

  /// Begins a step that continues a sequence up to token `end`. Later calls assume its success. Its
  /// target may be the source of another sequence in the same step.
  SlotPair begin(std::int64_t sequence, std::int64_t end, const TextEnds& ends);
  /// The first step that has begun for a sequence, and has not ended, has ended.
  void finish(std::int64_t sequence);
  /// Steps that have begun, and have not ended, will not: their sequences continue from
  /// checkpoints. So do those whose rows are lost. Call it before anything else after an error.
  void abandon();

  /// Continues from the last checkpoint of the sequence's first `most` tokens, where that includes
  /// more of them and all their rows are in the cache, or will be once pending copies are made.
  void advance(std::int64_t sequence, std::int64_t most);
  /// After the sequence's last tokens have gone: states of a token that has gone are not used.
  void truncate(std::int64_t sequence);
  /// After BlockPool::fork(): the same states, if they are of its tokens only.
  void fork(std::int64_t from, std::int64_t to);
  /// Continues from the last checkpoint whose tokens have rows; from no token if there is none.
  void restart(std::int64_t sequence);
  /// The number of tokens that restart() continues from.
  std::int64_t last_checkpoint(std::int64_t sequence) const;
  /// All content is lost, but for the slot of zeros.
  void clear();

  /// The slot with a sequence's states.
  std::int64_t slot(std::int64_t sequence) const { return sequences_[sequence].slot; }
  /// The sequence continues from no token. Steps of it must have ended.
  void reset(std::int64_t sequence) { use(sequences_[sequence], 0, kZero); }

  /// For tests: the number of checkpoints that can be used.
  std::int64_t checkpoints() const;

 private:
  /// A block, and its content.
  struct Place {
    std::int64_t block = -1;
    std::uint64_t content = 0;
  };
  struct Slot {
    /// Sequences that continue from it, and steps that make it a checkpoint.
    std::int64_t users = 0;
    Place place = {};        ///< of the checkpoint in it
    std::uint64_t used = 0;  ///< when
  };
  struct Step {
    std::int64_t sequence = 0;
    std::int64_t slot = -1;  ///< that becomes a checkpoint; -1: none
    Place place = {};
  };
  struct Sequence {
    std::int64_t position = 0;
    std::int64_t slot = kZero;
  };

  bool is_valid(const Place& place) const;
  bool is_of(std::int64_t slot, std::int64_t block) const;
  std::optional<std::int64_t> find(std::int64_t block) const;
  Sequence find_last(std::int64_t sequence, std::int64_t least, std::int64_t most) const;
  void use(Sequence& sequence, std::int64_t position, std::int64_t slot);
  bool is_checkpoint(std::int64_t end, const TextEnds& ends) const;
  std::int64_t take();
  void release(const Step& step);

  BlockPool& pool_;
  std::function<bool(std::int64_t, std::int64_t)> condition_ = {};
  PerSequence<Sequence> sequences_;
  IndexedVector<std::int64_t, Slot> slots_;
  IndexedVector<std::int64_t, std::int64_t> slot_of_block_;  // its last checkpoint; kZero: none
  const std::int64_t most_pending_;
  std::int64_t pending_ = 0;  // steps that make checkpoints
  std::vector<Step> steps_;   // under way, in the order of their start
  std::uint64_t time_ = 0;
};

}  // namespace shunt
