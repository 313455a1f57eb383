#include <cmath>

#include "backends/cpu/kernels/recurrence_chunks.h"
#include "backends/cpu/simd/recurrence.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

/// ln(1 + exp(x)), where exp(x) may be infinite, too.
float softplus(float x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// A row of the state belongs to one channel of x, with N elements.
class SsmScan final : public ChunkedRecurrence {
 public:
  const Op& op() const override { return ssm_scan_op(); }

 protected:
  std::size_t states_source() const override { return 5; }
  ChunkSources chunk_sources() const override { return {.keys = 3, .queries = 4, .values = 0}; }
  ChunkRule rule(const Call& call) const override {
    return {.one_decay = call.sources[2].sizes[0] == 1, .corrects = false, .scale = 1};
  }
  TokenNumbers numbers(const HeadWalk& walk, std::int64_t token) const override {
    const auto& sources = walk.call.sources;
    const float step = softplus(number(sources[1], walk.head, token, walk.slice));
    return {.decay = std::exp(step * number(sources[2], 0, walk.head)), .share = step};
  }

  void step_token(const HeadWalk& walk, std::int64_t token) const override {
    const auto& sources = walk.call.sources;
    const std::int64_t channels = sources[0].sizes[0];
    const std::int64_t n = sources[3].sizes[0];
    const std::int64_t group = walk.head / (sources[0].sizes[1] / sources[3].sizes[1]);
    const float step = softplus(number(sources[1], walk.head, token, walk.slice));
    const float* b = walk.row(3, group, token);
    const float* c = walk.row(4, group, token);
    const bool a_each = sources[2].sizes[0] != 1;
    const float decay = a_each ? 1.0F : std::exp(step * number(sources[2], 0, walk.head));
    float* decays = walk.scratch;
    if (a_each) {
      const TensorArg& a = sources[2];
      simd::mul(walk.call.level(), view_f32(a, a.row(walk.head), 0, n, decays), step, decays, n);
      simd::exp(walk.call.level(), decays, decays, n);
    }
    float* y = walk.output(token, channels);
    for (std::int64_t p = walk.begin; p < walk.end; ++p) {
      float* state = walk.state + p * n;
      const float factor = step * number(sources[0], p, walk.head, token, walk.slice);
      y[p] = a_each ? simd::update_and_read(walk.call.level(), state, decays, b, factor, c, n)
                    : simd::update_and_read(walk.call.level(), state, decay, b, factor, c, n);
    }
  }
};

}  // namespace

KernelList ssm_scan_kernels() {
  return list_kernels<CpuKernel, SsmScan>();
}

}  // namespace shunt::cpu
