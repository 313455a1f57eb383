// What a graph's layers keep between tokens: a step has caches, training has whole rows of tokens.
#pragma once

#include <string_view>

#include "model/description.h"
#include "shunt/ops.h"

namespace shunt {

/// Attention of a layer's queries to the keys of their sequences.
struct AttentionCall {
  std::int64_t layer = 0;
  std::string_view what = "layer";  ///< for names of caches
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_size = 0;
  std::int64_t value_size = 0;
  float scale = 1;
  float softcap = 0;
  AttentionSpan span = AttentionSpan::kCausal;
  std::int64_t window = 0;
  std::int64_t keys_of = -1;  ///< another layer, whose keys and values are read; -1: its own
  Result<Value> queries;      ///< [key_size, heads, tokens]
  Result<Value> keys;         ///< [key_size, kv_heads, tokens]; absent with keys_of
  /// [value_size, kv_heads, tokens]. Absent: the first elements of the keys.
  Result<Value> values;
  Result<Value> sinks;  ///< [heads], or absent
};

/// The states of a recurrence in a step.
struct StateUse {
  Result<Value> states;  ///< [numbers of a state, slots]
  Result<Value> sources;
  Result<Value> ends;
};

class LayerMemory {
 public:
  LayerMemory() = default;
  LayerMemory(const LayerMemory&) = delete;
  LayerMemory& operator=(const LayerMemory&) = delete;
  virtual ~LayerMemory() = default;

  virtual Dim tokens() const = 0;
  virtual Result<Value> positions() const = 0;  ///< I32 [tokens]
  /// I32 [tokens]; absent: all are of the first type.
  virtual Result<Value> token_types() const { return absent(); }
  /// Longer sequences can be computed than the model was first trained with.
  virtual bool is_long() const = 0;
  /// [value_size, heads, tokens]. Keys and values are kept.
  virtual Result<Value> attend(const AttentionCall& call) = 0;
  /// The slots of a state of so many numbers. Unsupported where there are none.
  virtual Result<StateUse> state(std::string_view what, std::int64_t layer,
                                 std::int64_t numbers) = 0;
  virtual std::int64_t slots() const = 0;
  /// Keeps the states after the step's tokens, as recurrences give them.
  virtual Status keep(Operand states, Operand after, std::int64_t numbers) = 0;
};

}  // namespace shunt
