// What layers keep of sequences beside a row for each token: states, and the rows of windows. Both
// let a sequence go on from the same token.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/session/block_pool.h"
#include "engine/session/state_slots.h"
#include "engine/session/step_inputs.h"
#include "engine/session/window_rows.h"

namespace shunt {

/// Models have none of both, one or both. Steps of a sequence begin and end in the same order.
class LayerContent {
 public:
  /// The pool must outlive this.
  LayerContent(BlockPool& pool, std::int64_t sequences) : pool_(pool), sequences_(sequences) {}
  LayerContent(const LayerContent&) = delete;
  LayerContent& operator=(const LayerContent&) = delete;
  void add_states(std::int64_t checkpoints);
  void add_windows(std::span<const WindowRows::Window> windows);

  /// Slots of the host for rows of windows.
  void set_host_slots(std::int64_t slots);

  StateSlots* states() { return states_ ? &*states_ : nullptr; }     ///< null: none
  WindowRows* windows() { return windows_ ? &*windows_ : nullptr; }  ///< null: none

  /// Whether tokens with rows in the cache may be computed again. Without that, the position of a
  /// sequence is the end of its rows, and functions without a result do nothing.
  bool repeats_tokens() const { return states_ || windows_; }
  /// The number of a sequence's first tokens that all layers can go on from.
  std::int64_t position(std::int64_t sequence) const;

  /// Before the steps of a call, which want results of tokens from `most` on.
  void open(std::int64_t sequence, std::int64_t most);
  /// Goes on from the last token up to `most` where both can; that token.
  std::int64_t advance(std::int64_t sequence, std::int64_t most);
  /// The call can go back to this position after an error: rows that it needs stay.
  void keep_start(std::int64_t sequence);
  /// Lets states and windows go on from the same token.
  void align(std::int64_t sequence);

  /// Begins a step that continues a sequence up to token `end`. `part` gets where the step reads
  /// and writes. `ends` as in StateSlots::step_end(). InvalidArgument if a cache is full.
  Status begin(std::int64_t sequence, std::int64_t end, const TextEnds& ends, StepPart& part);
  /// All sequences of a step have begun.
  void pass();
  /// The first step that has begun for a sequence has ended.
  void finish(std::int64_t sequence);
  /// Steps that have begun, and have not ended, will not.
  void abandon();

  /// After the same in the pool.
  void truncate(std::int64_t sequence);
  void fork(std::int64_t from, std::int64_t to);
  /// All content is lost, but for that of the host.
  void clear();

 private:
  BlockPool& pool_;
  const std::int64_t sequences_;
  std::optional<StateSlots> states_ = {};
  std::optional<WindowRows> windows_ = {};
};

}  // namespace shunt
