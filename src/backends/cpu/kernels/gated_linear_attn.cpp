#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/recurrence.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

/// A row of the state belongs to one channel of the key, with an element for each output.
class GatedLinearAttn final : public HeadRecurrence {
 public:
  const Op& op() const override { return gated_linear_attn_op(); }

 protected:
  std::size_t states_source() const override { return 4; }

  void step_token(const HeadWalk& walk, std::int64_t token) const override {
    const float scale = walk.call.params->get<GatedLinearAttnParams>().scale;
    const std::int64_t keys = walk.call.sources[0].sizes[0];
    const std::int64_t values = walk.call.sources[2].sizes[0];
    const float* q = walk.row(0, walk.head, token);
    const float* k = walk.row(1, walk.head, token);
    const float* v = walk.row(2, walk.head, token);
    const float* gate = walk.row(3, walk.head, token);
    float* y = walk.output(token, values);
    std::fill_n(y, values, 0.0F);
    for (std::int64_t i = 0; i < keys; ++i) {
      const simd::RowUpdate update = {.read = scale * q[i],
                                      .read_keep = gate[i],
                                      .read_add = k[i],
                                      .keep = gate[i],
                                      .add = k[i]};
      simd::read_and_update(walk.call.level(), walk.state + i * values, update, v, y, values);
    }
  }
};

}  // namespace

KernelList gated_linear_attn_kernels() {
  return list_kernels<CpuKernel, GatedLinearAttn>();
}

}  // namespace shunt::cpu
