// The common code of kernels of recurrences: an item is one head of one sequence, which walks its
// tokens with its state where the result has it.
#pragma once

#include <optional>

#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// Tokens of a sequence, in a slice of the dimension S of sources and result.
struct SequenceTokens {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::int64_t slice = 0;
};

/// The sequences of a call: their tokens and states.
class Sequences {
 public:
  /// `states` is followed by ids and ends. `dim`: that of R in `states`, and of S in source 0.
  Sequences(const Call& call, std::size_t states, std::size_t dim)
      : call_(call),
        states_(call.sources[states]),
        ids_(call.sources[states + 1]),
        ends_(call.sources[states + 2]),
        dim_(dim) {}

  /// With ends, one more than there are sequences: the last one has the idle tokens.
  std::int64_t count() const {
    return has_ends() ? ends_.sizes[0] + 1 : call_.sources[0].sizes[dim_];
  }
  bool is_idle(std::int64_t s) const { return has_ends() && s == ends_.sizes[0]; }
  /// Nothing if an end is out of range.
  std::optional<SequenceTokens> tokens(std::int64_t s) const {
    const std::int64_t all = call_.sources[0].sizes[dim_ - 1];
    if (!has_ends()) return SequenceTokens{0, all, s};
    const std::int64_t first = s == 0 ? 0 : integer_at(ends_, s - 1);
    const std::int64_t end = is_idle(s) ? all : integer_at(ends_, s);
    if (first < 0 || end < first || end > all) return std::nullopt;
    return SequenceTokens{first, end, 0};
  }
  /// The number of the sequence's first state, or -1 if there is no such state.
  std::int64_t state_id(std::int64_t s) const {
    const std::int64_t id = ids_.data == nullptr ? s : integer_at(ids_, s);
    return id < 0 || id >= states_.sizes[dim_] ? -1 : id;
  }
  /// The sequence's state in the result, of `elements`: after the rows of outputs.
  float* result_state(std::int64_t elements, std::int64_t s) const {
    const std::int64_t outputs = call_.sources[0].most[dim_ - 1];
    if (!has_ends()) return as_f32(call_.result.row(outputs, s));
    return as_f32(call_.result.row(outputs)) + elements * s;
  }

 private:
  bool has_ends() const { return ends_.data != nullptr; }

  const Call& call_;
  const TensorArg& states_;
  const TensorArg& ids_;
  const TensorArg& ends_;
  std::size_t dim_;
};

/// Sets `count` channels of the outputs of tokens to 0.
inline void clear_outputs(const Call& call, const SequenceTokens& tokens, std::int64_t first,
                          std::int64_t count) {
  for (std::int64_t t = tokens.first; t < tokens.end; ++t)
    std::fill_n(as_f32(call.result.row(t, tokens.slice)) + first, count, 0.0F);
}

/// A head of a sequence, as an item walks over it.
struct HeadWalk {
  const Call& call;
  std::int64_t head;
  std::int64_t slice;  ///< SequenceTokens::slice
  float* state;        ///< sizes 0 and 1 of `states`, contiguous: read and written
  float* scratch;      ///< worker_floats(); of this worker only
  float* rooms;        ///< for rows of sources, `room` floats each
  std::int64_t room;

  /// Row (head, token) of source i, [.., heads, T, S].
  const float* row(std::size_t i, std::int64_t of_head, std::int64_t token) const {
    const TensorArg& source = call.sources[i];
    return view_f32(source, source.row(of_head, token, slice), 0, source.sizes[0],
                    rooms + static_cast<std::int64_t>(i) * room);
  }
  /// The outputs of this head for a token, `count` of them.
  float* output(std::int64_t token, std::int64_t count) const {
    return as_f32(call.result.row(token, slice)) + head * count;
  }
};

/// For ops whose source `states_source`, [A, B, H, R], comes last but for ids and ends.
class HeadRecurrence : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final {
    const std::int64_t heads = call.sources[states_source()].sizes[2];
    return ceil_div(heads, heads_per_item(call)) * sequences_of(call).count();
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const final {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) room = std::max(room, node.source(i).size(0));
    const std::int64_t rooms = room * static_cast<std::int64_t>(states_source());
    return static_cast<std::size_t>(rooms + worker_floats(room)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const std::int64_t heads = call.sources[states_source()].sizes[2];
    const std::int64_t step = heads_per_item(call);
    const std::int64_t groups = ceil_div(heads, step);
    const Sequences sequences = sequences_of(call);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t s = item / groups;
      const auto tokens = sequences.tokens(s);
      if (!tokens) return Fault::kIndexOutOfRange;
      const std::int64_t first = item % groups * step;
      const std::int64_t count = std::min(step, heads - first);
      if (sequences.is_idle(s)) {
        const std::int64_t channels = call.result.sizes[0] / heads;
        clear_outputs(call, *tokens, first * channels, count * channels);
        continue;
      }
      if (sequences.state_id(s) < 0) return Fault::kIndexOutOfRange;
      walk(call, s, *tokens, {first, first + count}, as_f32(scratch));
    }
    return Fault::kNone;
  }

 protected:
  virtual std::size_t states_source() const = 0;
  /// Heads that an item walks side by side: more than one where a head is small.
  virtual std::int64_t heads_per_item(const Call&) const { return 1; }
  /// Floats of scratch; `room` is the length of the longest row of a source.
  virtual std::int64_t worker_floats(std::int64_t room) const { return room; }
  virtual void step_token(const HeadWalk& walk, std::int64_t token) const = 0;

 private:
  struct Heads {
    std::int64_t first;
    std::int64_t last;
  };

  Sequences sequences_of(const Call& call) const { return {call, states_source(), 3}; }

  void walk(const Call& call, std::int64_t s, const SequenceTokens& tokens, const Heads& heads,
            float* rooms) const {
    const TensorArg& states = call.sources[states_source()];
    const std::int64_t elements = states.sizes[0] * states.sizes[1];
    const Sequences sequences = sequences_of(call);
    const std::int64_t id = sequences.state_id(s);
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) {
      room = std::max(room, call.sources[i].sizes[0]);
    }
    float* rest = rooms + room * static_cast<std::int64_t>(states_source());
    float* all = sequences.result_state(elements * states.sizes[2], s);
    for (std::int64_t head = heads.first; head < heads.last; ++head) {
      for (std::int64_t row = 0; row < states.sizes[1]; ++row) {
        read_f32(states, states.row(row, head, id), 0, states.sizes[0],
                 all + head * elements + row * states.sizes[0]);
      }
    }
    for (std::int64_t token = tokens.first; token < tokens.end; ++token) {
      for (std::int64_t head = heads.first; head < heads.last; ++head) {
        step_token({call, head, tokens.slice, all + head * elements, rest, rooms, room}, token);
      }
    }
  }
};

}  // namespace shunt::cpu
