// The sequences of a recurrence's call (shunt/ops/state.h): their tokens and their states.
#pragma once

#include "backends/cuda/gpu/given_sources.h"
#include "backends/cuda/gpu/ids.h"

namespace shunt::cuda::gpu {

struct Sequences {
  Ids ids;
  Tensor ends;
  GivenSources given;
  i64 tokens;   ///< T of this run
  i64 columns;  ///< S of the sources over tokens: 1 with ends
  i64 states;   ///< R
};

/// Tokens [first, end) of a column of the sources.
struct SequenceTokens {
  i64 first, end, column;
};

DEVICE i64 end_at(const Sequences& all, i64 s) {
  return *(const i32*)(all.ends.data + s * all.ends.stride[0]);
}
DEVICE i64 count_sequences(const Sequences& all) {
  return all.given.ends != 0 ? all.ends.n[0] : all.columns;
}
/// With ends, the number after the last sequence stands for the tokens of no sequence.
DEVICE i64 count_with_idle(const Sequences& all) {
  return count_sequences(all) + (all.given.ends != 0 ? 1 : 0);
}
DEVICE bool is_idle_sequence(const Sequences& all, i64 s) {
  return s == count_sequences(all);
}

/// False, with a fault reported, if an end is out of range.
DEVICE bool find_tokens(const Common& common, const Sequences& all, i64 s, SequenceTokens& to) {
  to = {0, all.tokens, s};
  if (all.given.ends == 0) return true;
  const i64 first = s == 0 ? 0 : end_at(all, s - 1);
  const i64 end = is_idle_sequence(all, s) ? all.tokens : end_at(all, s);
  to = {first, end, 0};
  return expect_index(common, end, all.tokens + 1) && expect_index(common, first, end + 1);
}

/// The number of a sequence's first state; -1, with a fault reported, if there is no such state.
DEVICE i64 find_state(const Common& common, const Sequences& all, i64 s) {
  if (all.given.ids != 0) return checked_id(common, all.ids, s, 0, 0, all.states);
  return expect_index(common, s, all.states) ? s : -1;
}

}  // namespace shunt::cuda::gpu
