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
/// `states`: F32 of `state` in its first dimensions and R of them in the last; ids, if any, number
/// one for each of the sequences, else there are as many states as sequences.
Status expect_states(const Tensor& states, const Shape& state, int state_dims, const Tensor* ids,
                     const Dim& sequences);
/// Sources of recurrences over keys and values: those of the numbers `keys` are F32 [K, H, T, S],
/// and number `values` is F32 [V, H, T, S]; K, V and H are fixed.
Status expect_keys_and_values(const OpInfo& info, SourceTensors sources,
                              std::initializer_list<std::size_t> keys, std::size_t values);
/// [channels * heads, T + state_rows, S].
Result<Inferred> infer_recurrence(const Dim& channels, const Dim& heads, const Dim& tokens,
                                  std::int64_t state_rows, const Dim& sequences);

/// The views of a recurrence's result. `outputs` is [.., T, S] and `states` the states' shape, [..,
/// R].
struct RecurrenceForm {
  Shape outputs;
  int output_dims = 2;  ///< number of dimensions of `outputs` before T
  Shape states;
  int state_dims = 3;  ///< number of dimensions of `states` before R
};
Result<Recurrence> recurrence_parts(GraphBuilder& g, Operand result, const RecurrenceForm& form);

/// One sequence of a plain reference.
class RefRecurrence {
 public:
  /// Starts with the sequence's state; with zeros if its number is out of range. `state` has the
  /// dimensions that come before R.
  RefRecurrence(const RefTensor& states, int state_dims, const RefTensor* ids, std::int64_t s,
                RefTensor& result);
  double& state(std::int64_t i0, std::int64_t i1, std::int64_t i2 = 0) {
    return state_.at(i0, i1, i2);
  }
  double& output(std::int64_t channel, std::int64_t t) { return result_.at(channel, t, s_); }
  /// Writes the state to the result, whose first `tokens` rows are the outputs.
  void finish(std::int64_t tokens);

 private:
  RefTensor state_;
  RefTensor& result_;
  std::int64_t s_;
};

}  // namespace shunt
