// Recurrences that are computed in chunks where a sequence has many tokens: products of matrices in
// place of a walk over the state for each token. Token j adds the product of its key k[j] and a row
// u[j] to the state. D[i][j] is the product of the decays after token j up to token i, and P[i] of
// all up to token i. The state after token i is then
//   P[i] * state before the chunk + sum over j <= i of D[i][j] * k[j] * u[j].
// Decays are multiplied, never divided: a decay of 0 is one like others.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/ahead.h"
#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/chunk.h"

namespace shunt::cpu {

/// Sources by their numbers: keys and queries [channels, groups of heads, T, S], values [values,
/// heads, T, S].
struct ChunkSources {
  std::size_t keys;
  std::size_t queries;
  std::size_t values;
};

/// A token adds its key times the row `share * value`. The delta rule corrects the row: it is
/// `share * (value - found)`, and `found` is the product of the key and the decayed state.
struct ChunkRule {
  bool one_decay;  ///< of a token, for all channels; else there are no chunks
  bool corrects;
  float scale;  ///< of the outputs
};

struct TokenNumbers {
  float decay;
  float share;
};

class ChunkedRecurrence : public HeadRecurrence {
 protected:
  virtual ChunkSources chunk_sources() const = 0;
  virtual ChunkRule rule(const Call& call) const = 0;
  virtual TokenNumbers numbers(const HeadWalk& walk, std::int64_t token) const = 0;

  std::int64_t least_rows() const final { return kLanes; }

  /// Heads of few values are walked side by side: their inputs are neighbours. So are heads of a
  /// group, which share packed keys and queries, if there are items enough without that.
  std::int64_t heads_per_item(const Call& call) const final {
    const Sizes& states = call.sources[states_source()].sizes;
    const std::int64_t few = few_values(states[1]);
    if (few > 1) return few;
    constexpr std::int64_t kItemsOfAThread = 8;
    const std::int64_t all = sequences_of(call).count() * states[2];
    return std::clamp<std::int64_t>(
        all / (kItemsOfAThread * call.threads), 1,
        most_shared(states[2], call.sources[chunk_sources().keys].sizes[1]));
  }

  std::size_t chunk_bytes(const NodeView& node, const CpuTarget& target) const final {
    const Tensor& states = node.source(states_source());
    const std::int64_t values = states.size(1);
    const bool few = values < kLeastValues || node.source(0).size(2) < kLeastTokens;
    if (target.batch_invariant || few) return 0;
    const std::int64_t heads = std::max(
        few_values(values), most_shared(states.size(2), node.source(chunk_sources().keys).size(1)));
    const AreaSize size = {states.size(0), values};
    return static_cast<std::size_t>(size.floats(heads)) * sizeof(float);
  }

  /// Tokens that are too few for a chunk are left. With batch_invariant all are: results must not
  /// depend on where a chunk begins.
  std::int64_t walk_chunks(const HeadWalk& first, std::int64_t heads, const SequenceTokens& tokens,
                           float* memory) const final {
    const Sizes& states = first.call.sources[states_source()].sizes;
    const std::int64_t count = tokens.end - tokens.first;
    const bool few = states[1] < kLeastValues || count < kLeastTokens;
    const ChunkRule rule = this->rule(first.call);
    if (first.call.batch_invariant || few || !rule.one_decay) return 0;
    const Area area({states[0], states[1]}, memory);
    for (std::int64_t h = 0; h < heads; ++h) turn_states<true>(area, first.after(h), h);
    std::int64_t done = 0;
    while (count - done >= kLeastTokens) {
      const std::int64_t here = std::min(kTokens, count - done);
      std::int64_t packed = -1;
      for (std::int64_t h = 0; h < heads; ++h) {
        const HeadWalk walk = first.after(h);
        const Chunk chunk = {walk, chunk_sources(), rule, area, tokens.first + done, here};
        if (chunk.key_head() != packed) pack(chunk);
        packed = chunk.key_head();
        compute(chunk, h);
      }
      done += here;
    }
    for (std::int64_t h = 0; h < heads; ++h) turn_states<false>(area, first.after(h), h);
    return done;
  }

 private:
  static constexpr std::int64_t kLanes = simd::kPanelLanes;
  static constexpr std::int64_t kTokens = simd::kChunkTokens;
  /// Fewer tokens, or values, are faster one by one.
  static constexpr std::int64_t kLeastTokens = 6;
  static constexpr std::int64_t kLeastValues = 12;

  static std::int64_t few_values(std::int64_t values) {
    return ceil_div(16, std::max<std::int64_t>(1, values));
  }
  /// Heads of a group that an item has at most: their states fit the L2 cache.
  static std::int64_t most_shared(std::int64_t heads, std::int64_t groups) {
    return std::clamp<std::int64_t>(heads / std::max<std::int64_t>(1, groups), 1, 4);
  }

  struct AreaSize {
    std::int64_t channels;
    std::int64_t values;

    std::int64_t padded() const {
      return ceil_div(channels, simd::kChannelPadding) * simd::kChannelPadding;
    }
    std::int64_t panel() const { return padded() * kLanes; }
    std::int64_t state() const { return ceil_div(values, kLanes) * panel(); }
    std::int64_t floats(std::int64_t heads) const {
      return panel() + 5 * kTokens * kLanes + kTokens * padded() + heads * state();
    }
  };
  /// The memory of an item's chunks.
  struct Area {
    AreaSize size;
    float* tokens;    ///< keys, then queries, packed
    float* pairs;     ///< their products with keys
    float* seen;      ///< their products with a panel
    float* added;     ///< rows of a panel
    float* gathered;  ///< rows of a source
    float* states;    ///< panels of each head

    Area(const AreaSize& of, float* start)
        : size(of),
          tokens(start),
          pairs(tokens + of.panel()),
          seen(pairs + 2 * kTokens * kLanes),
          added(seen + 2 * kTokens * kLanes),
          gathered(added + kTokens * kLanes),
          states(gathered + kTokens * of.padded()) {}

    /// Calls f(panel, its first row of the state, its rows) for the rows that are walked.
    template <class F>
    void each_panel(const HeadWalk& walk, std::int64_t number, F f) const {
      float* panel = states + number * size.state();
      for (std::int64_t row = walk.begin; row < walk.end; row += kLanes, panel += size.panel())
        f(panel, row, std::min(kLanes, walk.end - row));
    }
  };
  struct Chunk {
    const HeadWalk& walk;
    const ChunkSources sources;
    const ChunkRule& rule;
    const Area& area;
    std::int64_t first;
    std::int64_t count;

    simd::Level level() const { return walk.call.level(); }
    const TensorArg& source(std::size_t i) const { return walk.call.sources[i]; }
    /// The head of keys that the walk's head reads.
    std::int64_t key_head() const {
      return walk.head / (source(sources.values).sizes[1] / source(sources.keys).sizes[1]);
    }
    std::byte* row(std::size_t of, std::int64_t head, std::int64_t i) const {
      return source(of).row(head, first + i, walk.slice);
    }
    float* output(std::int64_t i) const {
      return walk.output(first + i, source(sources.values).sizes[0]);
    }
    /// y[r] = token r times a panel. Keys only find something if the recurrence corrects.
    void multiply(const float* panel, bool half, float* y) const {
      simd::multiply_panel(level(), area.tokens, area.size.channels, rule.corrects ? 0 : kTokens,
                           2 * kTokens, panel, half, y);
    }
  };

  /// The rows of a head's state to panels, or back.
  template <bool Load>
  static void turn_states(const Area& area, const HeadWalk& walk, std::int64_t number) {
    const std::int64_t channels = area.size.channels;
    area.each_panel(walk, number, [&](float* panel, std::int64_t row, std::int64_t lanes) {
      float* rows = walk.state + row * channels;
      if constexpr (Load) {
        simd::load_panel(walk.call.level(), rows, channels, lanes, channels, panel);
      } else {
        simd::store_panel(walk.call.level(), panel, lanes, channels, rows, channels);
      }
    });
  }

  static void pack(const Chunk& chunk) {
    pack_rows(chunk, chunk.sources.keys, chunk.area.tokens);
    pack_rows(chunk, chunk.sources.queries, chunk.area.tokens + kTokens);
    chunk.multiply(chunk.area.tokens, true, chunk.area.pairs);
    ask_for_next(chunk, chunk.sources.keys, chunk.key_head());
    ask_for_next(chunk, chunk.sources.queries, chunk.key_head());
  }

  static void pack_rows(const Chunk& chunk, std::size_t source, float* to) {
    const std::int64_t channels = chunk.area.size.channels;
    const float* rows[kTokens] = {};
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      rows[i] = view_f32(chunk.source(source), chunk.row(source, chunk.key_head(), i), 0, channels,
                         chunk.area.gathered + i * channels);
    }
    simd::pack_tokens(chunk.level(), rows, chunk.count, channels, to);
  }

  void compute(const Chunk& chunk, std::int64_t number) const {
    const Area& area = chunk.area;
    ask_for_next(chunk, chunk.sources.values, chunk.walk.head);
    const simd::ChunkNumbers numbers = all_numbers(chunk);
    area.each_panel(chunk.walk, number, [&](float* panel, std::int64_t row, std::int64_t lanes) {
      ask_for_outputs(chunk, row, lanes);
      chunk.multiply(panel, false, area.seen);
      read_values(chunk, numbers, row, lanes);
      if (chunk.rule.corrects) simd::solve_panel(chunk.level(), numbers, area.seen, area.added);
      float* y = area.seen + kTokens * kLanes;
      simd::read_panel(chunk.level(), numbers, y, area.added);
      for (std::int64_t i = 0; i < chunk.count; ++i)
        std::copy_n(y + i * kLanes, lanes, chunk.output(i) + row);
      simd::update_panel(chunk.level(), numbers, area.tokens, area.size.padded(), area.added,
                         panel);
    });
  }

  simd::ChunkNumbers all_numbers(const Chunk& chunk) const {
    const float scale = chunk.rule.scale;
    simd::ChunkNumbers made = {};
    made.count = chunk.count;
    float decays[kTokens];
    float kept = 1;
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      const TokenNumbers of = numbers(chunk.walk, chunk.first + i);
      const auto at = static_cast<std::size_t>(i);
      decays[i] = of.decay;
      kept *= of.decay;
      made.share[at] = of.share;
      made.found[at] = kept;
      made.read[at] = scale * kept;
    }
    made.keep = kept;
    for (std::int64_t j = 0; j < chunk.count; ++j) {
      const auto from = static_cast<std::size_t>(j);
      float left = 1;
      for (std::int64_t i = j; i < chunk.count; ++i) {
        if (i > j) left *= decays[i];
        const auto at = static_cast<std::size_t>(i);
        const float* pair = chunk.area.pairs + i * kLanes + j;
        if (chunk.rule.corrects) made.found_of[from][at] = left * pair[0];
        made.read_of[from][at] = scale * left * pair[kTokens * kLanes];
      }
      made.last[from] = left;
    }
    return made;
  }

  /// Copies the values of the chunk's tokens to rows of a panel. Without the delta rule, these are
  /// the rows that are added.
  static void read_values(const Chunk& chunk, const simd::ChunkNumbers& numbers, std::int64_t row,
                          std::int64_t lanes) {
    const std::size_t source = chunk.sources.values;
    std::fill_n(chunk.area.added, kTokens * kLanes, 0.0F);
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      float* to = chunk.area.added + i * kLanes;
      const float* values =
          view_f32(chunk.source(source), chunk.row(source, chunk.walk.head, i), row, lanes, to);
      const float factor = chunk.rule.corrects ? 1 : numbers.share[static_cast<std::size_t>(i)];
      for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = factor * values[lane];
    }
  }

  /// Lines that are not in a cache when they are written would hold up what follows.
  static void ask_for_outputs(const Chunk& chunk, std::int64_t row, std::int64_t lanes) {
    constexpr std::int64_t kLine = 16;  // floats
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      for (std::int64_t lane = 0; lane < lanes; lane += kLine)
        __builtin_prefetch(chunk.output(i) + row + lane, 1, 3);
    }
  }

  /// Rows of tokens are far from each other in memory.
  static void ask_for_next(const Chunk& chunk, std::size_t source, std::int64_t head) {
    const TensorArg& from = chunk.source(source);
    const std::int64_t after = chunk.first + chunk.count;
    const std::int64_t count = std::min(kTokens, from.sizes[2] - after);
    if (!has_plain_rows(from) || count <= 0) return;
    const std::int64_t bytes = from.sizes[0] * from.strides[0];
    Stretch{chunk.row(source, head, chunk.count), bytes, count, from.strides[2]}.ask(0, 1, 1);
  }
};

}  // namespace shunt::cpu
