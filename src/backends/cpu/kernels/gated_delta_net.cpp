#include <cmath>

#include "backends/cpu/kernels/recurrence_chunks.h"
#include "backends/cpu/simd/recurrence.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

/// A row of the state belongs to one output, with an element for each channel of the key. With the
/// decay e, the product of the key and the decayed row is dot(k, e * state) = dot(e * k, state). So
/// the row is written once.
class GatedDeltaNet final : public ChunkedRecurrence {
 public:
  const Op& op() const override { return gated_delta_net_op(); }

 protected:
  std::size_t states_source() const override { return 5; }
  /// For e and e * k.
  std::int64_t worker_floats(std::int64_t room) const override { return 2 * room; }

  ChunkSources chunk_sources() const override { return {.keys = 1, .queries = 0, .values = 2}; }
  ChunkRule rule(const Call& call) const override {
    return {.one_decay = call.sources[3].sizes[0] == 1,
            .corrects = true,
            .scale = call.params->get<GatedDeltaNetParams>().scale};
  }
  TokenNumbers numbers(const HeadWalk& walk, std::int64_t token) const override {
    const auto& sources = walk.call.sources;
    return {.decay = std::exp(number(sources[3], 0, walk.head, token, walk.slice)),
            .share = number(sources[4], 0, walk.head, token, walk.slice)};
  }

  void step_token(const HeadWalk& walk, std::int64_t token) const override {
    const float scale = walk.call.params->get<GatedDeltaNetParams>().scale;
    const auto& sources = walk.call.sources;
    const std::int64_t keys = sources[0].sizes[0];
    const std::int64_t values = sources[2].sizes[0];
    const std::int64_t heads_per_key = sources[2].sizes[1] / sources[0].sizes[1];
    const float* q = walk.row(0, walk.head / heads_per_key, token);
    const float* k = walk.row(1, walk.head / heads_per_key, token);
    const float* v = walk.row(2, walk.head, token);
    const float* gate = walk.row(3, walk.head, token);
    const float beta = number(sources[4], 0, walk.head, token, walk.slice);
    const bool gate_each = sources[3].sizes[0] != 1;
    const float decay = gate_each ? 1.0F : std::exp(gate[0]);
    float* decays = walk.scratch;
    float* decayed_key = walk.scratch + walk.room;
    if (gate_each) {
      simd::exp(walk.call.level(), gate, decays, keys);
      simd::mul(walk.call.level(), decays, k, decayed_key, keys);
    } else {
      simd::mul(walk.call.level(), k, decay, decayed_key, keys);
    }
    float* y = walk.output(token, values);
    for (std::int64_t j = walk.begin; j < walk.end; ++j) {
      float* state = walk.state + j * keys;
      const float change = beta * (v[j] - simd::dot(walk.call.level(), decayed_key, state, keys));
      y[j] =
          scale *
          (gate_each ? simd::update_and_read(walk.call.level(), state, decays, k, change, q, keys)
                     : simd::update_and_read(walk.call.level(), state, decay, k, change, q, keys));
    }
  }
};

}  // namespace

KernelList gated_delta_net_kernels() {
  return list_kernels<CpuKernel, GatedDeltaNet>();
}

}  // namespace shunt::cpu
