// The common code of kernels of recurrences: an item is one head of one sequence, which walks its
// tokens with its state where the result has it.
#pragma once

#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rows.h"

namespace shunt::cpu {

/// The number of sequence s's first state, or -1 if there is no such state. `dim`: that of `states`
/// which counts them.
inline std::int64_t state_id(const TensorArg& states, std::size_t dim, const TensorArg& ids,
                             std::int64_t s) {
  const std::int64_t id = ids.data == nullptr ? s : integer_at(ids, s);
  return id < 0 || id >= states.sizes[dim] ? -1 : id;
}

/// Where the result, [C, T + N, S], has the state of a sequence, `elements` of them: in its last
/// rows.
inline float* result_state(const Call& call, std::int64_t elements, std::int64_t s) {
  const Sizes& sizes = call.result.sizes;
  const std::int64_t rows = elements == 0 ? 0 : elements / sizes[0];
  return as_f32(call.result.row(sizes[1] - rows, s));
}

/// A head of a sequence, as an item walks over it.
struct HeadWalk {
  const Call& call;
  std::int64_t head;
  std::int64_t sequence;
  float* state;    ///< sizes 0 and 1 of `states`, contiguous: read and written
  float* scratch;  ///< worker_floats(); of this worker only
  float* rooms;    ///< for rows of sources, `room` floats each
  std::int64_t room;

  /// Row (head, token) of source i, [.., heads, T, S].
  const float* row(std::size_t i, std::int64_t of_head, std::int64_t token) const {
    const TensorArg& source = call.sources[i];
    return view_f32(source, source.row(of_head, token, sequence), 0, source.sizes[0],
                    rooms + static_cast<std::int64_t>(i) * room);
  }
  /// The outputs of this head for a token, `count` of them.
  float* output(std::int64_t token, std::int64_t count) const {
    return as_f32(call.result.row(token, sequence)) + head * count;
  }
};

/// For ops whose source `states_source`, [A, B, H, R], comes last but for the ids.
class HeadRecurrence : public AnyCaseKernel {
 public:
  std::int64_t items(const Call& call, int) const final {
    const std::int64_t heads = call.sources[states_source()].sizes[2];
    return ceil_div(heads, heads_per_item(call)) * call.result.sizes[2];
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const final {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) room = std::max(room, node.source(i).size(0));
    const std::int64_t rooms = room * static_cast<std::int64_t>(states_source());
    return static_cast<std::size_t>(rooms + worker_floats(room)) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const final {
    const TensorArg& states = call.sources[states_source()];
    const std::int64_t heads = states.sizes[2];
    const std::int64_t step = heads_per_item(call);
    const std::int64_t groups = ceil_div(heads, step);
    const std::int64_t elements = states.sizes[0] * states.sizes[1];
    std::int64_t room = 0;
    for (std::size_t i = 0; i < states_source(); ++i) {
      room = std::max(room, call.sources[i].sizes[0]);
    }
    float* rooms = as_f32(scratch);
    float* rest = rooms + room * static_cast<std::int64_t>(states_source());
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t s = item / groups;
      const std::int64_t id = state_id(states, 3, call.sources[states_source() + 1], s);
      if (id < 0) return Fault::kIndexOutOfRange;
      const std::int64_t first = item % groups * step;
      const std::int64_t last = std::min(first + step, heads);
      float* all = result_state(call, elements * heads, s);
      for (std::int64_t head = first; head < last; ++head) {
        for (std::int64_t row = 0; row < states.sizes[1]; ++row) {
          read_f32(states, states.row(row, head, id), 0, states.sizes[0],
                   all + head * elements + row * states.sizes[0]);
        }
      }
      const std::int64_t tokens = call.sources[0].sizes[2];
      for (std::int64_t token = 0; token < tokens; ++token) {
        for (std::int64_t head = first; head < last; ++head) {
          step_token({call, head, s, all + head * elements, rest, rooms, room}, token);
        }
      }
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
};

}  // namespace shunt::cpu
