// Shared parts of recurrences: the checks of their sources, the form of their result, and a state
// while a plain reference walks over it.
#pragma once

#include <string_view>

#include "graph/op.h"
#include "ops/state/state.h"

namespace shunt {

/// F32, and exactly of the shape `wanted`; `form` is the text of that shape: "[K, H, T, S]".
Status expect_f32_of(std::string_view name, const Tensor& tensor, const Shape& wanted,
                     std::string_view form);
/// The first `dims` dimensions are no dynamic dimensions.
Status expect_fixed(std::string_view name, const Tensor& tensor, int dims);
/// Sources of recurrences over keys and values: those of the numbers `keys` are F32 [K, H, T, S],
/// and number `values` is F32 [V, H, T, S]; K, V and H are fixed.
Status expect_keys_and_values(const OpInfo& info, SourceTensors sources,
                              std::initializer_list<std::size_t> keys, std::size_t values);

/// The position of `states` among an op's sources. ids and ends follow it.
struct StatesSource {
  std::size_t index = 0;
  int dims = 3;  ///< dimensions of `states` before R, and of source 0, [.., T, S], before S
};
/// The sizes of a recurrence that do not depend on tokens and sequences.
struct RecurrenceSizes {
  Shape state;   ///< of `states` before R
  Dim channels;  ///< output channels of a head
  Dim heads;
  Dim state_rows;  ///< N: rows of the result for the state of a sequence
};
/// Checks `states`, ids and ends. The result is [channels * heads, T + N, S], or with ends
/// [channels * heads, T + N * S, 1].
Result<Inferred> infer_recurrence(const OpInfo& info, SourceTensors sources, StatesSource states,
                                  const RecurrenceSizes& sizes);

/// The views of a recurrence's result. `outputs` is [.., T, S] and `states` the states' shape, [..,
/// R].
struct RecurrenceForm {
  Shape outputs;
  Shape states;
  int dims = 3;  ///< as in StatesSource
};
Result<Recurrence> recurrence_parts(GraphBuilder& g, Operand result, Operand ends,
                                    const RecurrenceForm& form);

/// One sequence of a plain reference.
class RefRecurrence {
 public:
  /// The number of sequences.
  static std::int64_t count(RefSources sources, StatesSource states);
  /// Starts with the state of sequence s, or with zeros if its number is out of range.
  RefRecurrence(RefSources sources, StatesSource states, std::int64_t s, RefTensor& result);
  /// Its tokens are those from first() up to end(), in slice column() of the sources' dimension S.
  /// Ends out of range are clamped.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return end_; }
  std::int64_t column() const { return column_; }
  double& state(std::int64_t i0, std::int64_t i1, std::int64_t i2 = 0) {
    return state_.at(i0, i1, i2);
  }
  double& output(std::int64_t channel, std::int64_t t) { return result_.at(channel, t, column_); }
  /// Writes the state to the result.
  void finish();

 private:
  RefTensor state_;
  RefTensor& result_;
  std::int64_t tokens_;       // of all sequences of the column
  std::int64_t output_rows_;  // of the result, before those of states
  std::int64_t column_ = 0;
  std::int64_t place_ = 0;  // number of this sequence's state in the column
  std::int64_t first_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace shunt
