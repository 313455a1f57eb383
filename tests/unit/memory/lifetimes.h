// Lifetimes shaped like those of networks, written out. A planner of memory is tested and measured
// with them. Time is the number of the op.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "memory/planner.h"

namespace shunt {

/// Puts down tensors as ops make and read them.
class Lifetimes {
 public:
  using Id = std::size_t;
  /// An op that makes a tensor from others, and needs scratch meanwhile.
  Id op(std::size_t bytes, std::initializer_list<Id> sources, std::size_t scratch = 0) {
    for (Id source : sources) requests[source].last = time_;
    if (scratch > 0) requests.push_back({scratch, time_, time_});
    requests.push_back({bytes, time_, time_});
    ++time_;
    return requests.size() - 1;
  }
  /// The same, in the place of its first source, which no op reads any more.
  Id in_place(Id target, std::initializer_list<Id> sources) {
    for (Id source : sources) requests[source].last = time_;
    requests[target].last = time_++;
    return target;
  }
  void keep(Id id) { requests[id].last = time_; }

  std::vector<MemoryRequest> requests;

 private:
  std::int64_t time_ = 0;
};

/// A prompt step of a Llama with 16 layers: width 2048, feed-forward 8192, 32 heads with 8 for keys
/// and values, 512 tokens, F32.
inline std::vector<MemoryRequest> llama_lifetimes() {
  constexpr std::size_t kTokens = 512;
  constexpr std::size_t kRow = kTokens * 4;
  Lifetimes g;
  auto x = g.op(2048 * kRow, {});
  for (int layer = 0; layer < 16; ++layer) {
    auto h = g.op(2048 * kRow, {x});
    h = g.in_place(h, {h});
    const auto q = g.op(2048 * kRow, {h});
    const auto k = g.op(512 * kRow, {h});
    const auto v = g.op(512 * kRow, {h});
    const auto turned_q = g.op(2048 * kRow, {q});
    const auto turned_k = g.op(512 * kRow, {k});
    g.op(64, {turned_k});  // into the cache
    g.op(64, {v});
    const auto mixed = g.op(2048 * kRow, {turned_q}, 32 * 4096 * 4);
    const auto out = g.op(2048 * kRow, {mixed});
    x = g.in_place(x, {x, out});
    h = g.op(2048 * kRow, {x});
    h = g.in_place(h, {h});
    const auto gate = g.op(8192 * kRow, {h});
    const auto up = g.op(8192 * kRow, {h});
    const auto both = g.in_place(gate, {gate, up});
    const auto down = g.op(2048 * kRow, {both}, 8192 * 544);
    x = g.in_place(x, {x, down});
  }
  const auto logits = g.op(128256 * 4, {x});
  g.keep(logits);
  return g.requests;
}

/// A mixture of experts: 24 layers, 64 experts of which each token uses 8, 256 tokens. Each expert
/// in use is computed on its own, with as many tokens as chance gives it.
inline std::vector<MemoryRequest> experts_lifetimes() {
  constexpr std::size_t kTokens = 256;
  constexpr std::size_t kRow = kTokens * 4;
  std::mt19937_64 random(3);
  Lifetimes g;
  auto x = g.op(2048 * kRow, {});
  for (int layer = 0; layer < 24; ++layer) {
    const auto h = g.op(2048 * kRow, {x});
    const auto q = g.op(4096 * kRow, {h});
    const auto k = g.op(512 * kRow, {h});
    const auto v = g.op(512 * kRow, {h});
    const auto mixed = g.op(4096 * kRow, {q, k, v}, 1 << 20);
    const auto out = g.op(2048 * kRow, {mixed});
    x = g.in_place(x, {x, out});
    const auto normed = g.op(2048 * kRow, {x});
    const auto scores = g.op(64 * kRow, {normed});
    const auto chosen = g.op(8 * kRow, {scores});
    const auto weights = g.op(8 * kRow, {scores, chosen});
    const auto sum = g.op(2048 * kRow, {normed});
    for (int expert = 0; expert < 64; ++expert) {
      const std::size_t tokens = random() % 65;
      if (tokens == 0) continue;
      const auto rows = g.op(2048 * tokens * 4, {normed, chosen});
      const auto gate = g.op(768 * tokens * 4, {rows});
      const auto up = g.op(768 * tokens * 4, {rows});
      const auto both = g.op(768 * tokens * 4, {gate, up});
      const auto down = g.op(2048 * tokens * 4, {both});
      g.in_place(sum, {sum, down, weights});
    }
    x = g.in_place(x, {x, sum});
  }
  g.keep(x);
  return g.requests;
}

/// A convolutional encoder and decoder with skips over the whole network, as images are segmented
/// with: 512 x 512, 5 levels, two convolutions a level and side, each with unfolded patches as
/// scratch.
inline std::vector<MemoryRequest> convolution_lifetimes() {
  Lifetimes g;
  const auto convolve = [&](Lifetimes::Id from, std::size_t size, std::size_t channels) {
    const std::size_t bytes = size * size * channels * 4;
    const auto y = g.op(bytes, {from}, 9 * size * channels * 16);
    const auto normed = g.op(bytes, {y});
    return g.in_place(normed, {normed});
  };
  auto x = g.op(512 * 512 * 3 * 4, {});
  std::vector<Lifetimes::Id> skips;
  std::size_t size = 512;
  std::size_t channels = 24;
  for (int level = 0; level < 5; ++level) {
    x = convolve(convolve(x, size, channels), size, channels);
    skips.push_back(x);
    size /= 2;
    x = g.op(size * size * channels * 4, {x});  // the largest of four
    channels = channels * 2 - level * 8;        // not all powers of two
  }
  x = convolve(x, size, channels);
  for (int level = 4; level >= 0; --level) {
    size *= 2;
    const auto wide = g.op(size * size * channels * 4, {x});
    channels = (channels + level * 8) / 2;
    const auto joined = g.op(size * size * channels * 12, {wide, skips.back()});
    skips.pop_back();
    x = convolve(convolve(joined, size, channels), size, channels);
  }
  g.keep(g.op(512 * 512 * 4, {x}));
  return g.requests;
}

/// Nodes of a random graph in which a node mostly reads those made shortly before, and now and then
/// one from long ago. Sizes are log-uniform over four decades.
inline std::vector<MemoryRequest> random_lifetimes(std::size_t nodes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Lifetimes g;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t magnitude = std::size_t{64} << (random() % 14);
    const std::size_t bytes = magnitude + random() % magnitude;
    const std::size_t near = i == 0 ? 0 : i - 1 - random() % std::min<std::size_t>(i, 8);
    const std::size_t far = i == 0 ? 0 : random() % i;
    if (i == 0) {
      g.op(bytes, {});
    } else if (random() % 50 == 0) {
      g.op(bytes, {near, far});
    } else {
      g.op(bytes, {near});
    }
  }
  return g.requests;
}

}  // namespace shunt
