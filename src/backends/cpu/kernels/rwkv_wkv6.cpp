#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/recurrence.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

/// A row of the state belongs to one channel of the key, with an element for each output.
class RwkvWkv6 final : public HeadRecurrence {
 public:
  const Op& op() const override { return rwkv_wkv6_op(); }

 protected:
  std::size_t states_source() const override { return 5; }

  void step_token(const HeadWalk& walk, std::int64_t token) const override {
    const std::int64_t keys = walk.call.sources[0].sizes[0];
    const std::int64_t values = walk.call.sources[3].sizes[0];
    const float* r = walk.row(0, walk.head, token);
    const float* w = walk.row(1, walk.head, token);
    const float* k = walk.row(2, walk.head, token);
    const float* v = walk.row(3, walk.head, token);
    float* y = walk.output(token, values);
    std::fill_n(y, values, 0.0F);
    for (std::int64_t i = 0; i < keys; ++i) {
      const float bonus = number(walk.call.sources[4], i, walk.head);
      const simd::RowUpdate update = {
          .read = r[i], .read_keep = 1, .read_add = bonus * k[i], .keep = w[i], .add = k[i]};
      simd::read_and_update(walk.call.level(), walk.state + i * values, update, v, y, values);
    }
  }
};

}  // namespace

KernelList rwkv_wkv6_kernels() {
  return list_kernels<CpuKernel, RwkvWkv6>();
}

}  // namespace shunt::cpu
