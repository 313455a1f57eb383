// The common code of kernels of recurrences: an item is one head of one sequence, or some of its
// values, which walks its tokens with its state where the result has it.
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
  std::size_t states_source;
  std::int64_t head;
  std::int64_t slice;  ///< SequenceTokens::slice
  float* state;        ///< sizes 0 and 1 of `states`, contiguous: read and written
  std::int64_t begin;  ///< rows of the state that are walked, up to `end`: size 1 of `states`
  std::int64_t end;
  float* scratch;  ///< worker_floats(); of this worker only
  float* rooms;    ///< for rows of sources, `room` floats each
  std::int64_t room;

  /// Row (head, token) of source i, [.., heads, T, S].
  const float* row(std::size_t i, std::int64_t of_head, std::int64_t token) const {
    const TensorArg& source = call.sources[i];
    return view_f32(source, source.row(of_head, token, slice), 0, source.sizes[0],
                    rooms + static_cast<std::int64_t>(i) * room);
  }
  /// The head that is `heads` after this one.
  HeadWalk after(std::int64_t heads) const {
    const Sizes& states = call.sources[states_source].sizes;
    HeadWalk next = *this;
    next.head += heads;
    next.state += heads * states[0] * states[1];
    return next;
  }
  /// The outputs of this head for a token, `count` of them.
  float* output(std::int64_t token, std::int64_t count) const {
    return as_f32(call.result.row(token, slice)) + head * count;
  }
};

/// For ops whose source `states_source`, [A, B, H, R], comes last but for ids and ends.
class HeadRecurrence : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final { return cut(call).items(); }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget& target) const final {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) room = std::max(room, node.source(i).size(0));
    return static_cast<std::size_t>(token_floats(room)) * sizeof(float) + chunk_bytes(node, target);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const Sequences sequences = sequences_of(call);
    const Cut all = cut(call);
    for (std::int64_t number = begin; number < end; ++number) {
      const Item item = all.item(number);
      const auto tokens = sequences.tokens(item.sequence);
      if (!tokens) return Fault::kIndexOutOfRange;
      if (sequences.is_idle(item.sequence)) {
        const std::int64_t channels = call.result.sizes[0] / all.heads;
        for (std::int64_t head = item.first_head; head < item.last_head; ++head) {
          // Rows of states that are cut are channels.
          const bool whole = all.slices == 1;
          clear_outputs(call, *tokens, head * channels + (whole ? 0 : item.first_row),
                        whole ? channels : item.last_row - item.first_row);
        }
        continue;
      }
      if (sequences.state_id(item.sequence) < 0) return Fault::kIndexOutOfRange;
      walk(call, *tokens, item, as_f32(scratch));
    }
    return Fault::kNone;
  }

 protected:
  virtual std::size_t states_source() const = 0;
  /// Heads that an item walks side by side: more than one where a head is small.
  virtual std::int64_t heads_per_item(const Call&) const { return 1; }
  /// Rows of a state that an item has at least, where these do not depend on each other and each
  /// gives one output. 0: all rows.
  virtual std::int64_t least_rows() const { return 0; }
  /// Floats of scratch; `room` is the length of the longest row of a source.
  virtual std::int64_t worker_floats(std::int64_t room) const { return room; }
  virtual void step_token(const HeadWalk& walk, std::int64_t token) const = 0;
  /// Walks as many first tokens of `heads` heads as are computed in chunks; the number of these.
  /// The memory has chunk_bytes().
  virtual std::int64_t walk_chunks(const HeadWalk& /*first*/, std::int64_t /*heads*/,
                                   const SequenceTokens&, float* /*memory*/) const {
    return 0;
  }
  virtual std::size_t chunk_bytes(const NodeView&, const CpuTarget&) const { return 0; }

  Sequences sequences_of(const Call& call) const { return {call, states_source(), 3}; }

 private:
  struct Item {
    std::int64_t sequence;
    std::int64_t first_head;
    std::int64_t last_head;
    std::int64_t first_row;
    std::int64_t last_row;
  };
  /// How the states of a call are cut. Results do not depend on it.
  struct Cut {
    std::int64_t sequences;
    std::int64_t heads;
    std::int64_t heads_per_item;
    std::int64_t rows;    ///< of a state
    std::int64_t pieces;  ///< of the least rows, in a state
    std::int64_t least;   ///< rows of a piece
    std::int64_t slices;  ///< of a state: at most as many as pieces

    std::int64_t groups() const { return ceil_div(heads, heads_per_item); }
    std::int64_t items() const { return sequences * groups() * slices; }
    Item item(std::int64_t number) const {
      const std::int64_t slice = number % slices;
      const std::int64_t first = number / slices % groups() * heads_per_item;
      return {.sequence = number / (slices * groups()),
              .first_head = first,
              .last_head = std::min(first + heads_per_item, heads),
              .first_row = std::min(pieces * slice / slices * least, rows),
              .last_row = std::min(pieces * (slice + 1) / slices * least, rows)};
    }
  };

  /// States are cut where there are fewer heads than keep all threads at work.
  Cut cut(const Call& call) const {
    constexpr std::int64_t kItemsOfAThread = 4;
    const Sizes& states = call.sources[states_source()].sizes;
    Cut made = {.sequences = sequences_of(call).count(),
                .heads = states[2],
                .heads_per_item = heads_per_item(call),
                .rows = states[1],
                .pieces = 1,
                .least = states[1],
                .slices = 1};
    const std::int64_t items = made.items();
    if (least_rows() == 0 || made.rows == 0 || items == 0) return made;
    made.least = least_rows();
    made.pieces = ceil_div(made.rows, made.least);
    made.slices = std::min(made.pieces, ceil_div(kItemsOfAThread * call.threads, items));
    return made;
  }

  /// Scratch of a worker for tokens one by one, in floats: a multiple of a cache line.
  std::int64_t token_floats(std::int64_t room) const {
    constexpr std::int64_t kLine = 16;
    const std::int64_t rooms = room * static_cast<std::int64_t>(states_source());
    return ceil_div(rooms + worker_floats(room), kLine) * kLine;
  }

  void walk(const Call& call, const SequenceTokens& tokens, const Item& item, float* rooms) const {
    const TensorArg& states = call.sources[states_source()];
    const std::int64_t elements = states.sizes[0] * states.sizes[1];
    const Sequences sequences = sequences_of(call);
    const std::int64_t id = sequences.state_id(item.sequence);
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) {
      room = std::max(room, call.sources[i].sizes[0]);
    }
    float* rest = rooms + room * static_cast<std::int64_t>(states_source());
    float* all = sequences.result_state(elements * states.sizes[2], item.sequence);
    for (std::int64_t head = item.first_head; head < item.last_head; ++head) {
      for (std::int64_t row = item.first_row; row < item.last_row; ++row) {
        read_f32(states, states.row(row, head, id), 0, states.sizes[0],
                 all + head * elements + row * states.sizes[0]);
      }
    }
    const HeadWalk first = {call,
                            states_source(),
                            item.first_head,
                            tokens.slice,
                            all + item.first_head * elements,
                            item.first_row,
                            item.last_row,
                            rest,
                            rooms,
                            room};
    const std::int64_t heads = item.last_head - item.first_head;
    const std::int64_t done = walk_chunks(first, heads, tokens, rooms + token_floats(room));
    for (std::int64_t token = tokens.first + done; token < tokens.end; ++token) {
      for (std::int64_t i = 0; i < heads; ++i) step_token(first.after(i), token);
    }
  }
};

}  // namespace shunt::cpu
