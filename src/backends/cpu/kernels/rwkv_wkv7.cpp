#include "backends/cpu/kernels/recurrence.h"
#include "backends/cpu/simd/recurrence.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/state.h"

namespace shunt::cpu {

namespace {

/// A row of the state belongs to one output, with an element for each channel of the key.
class RwkvWkv7 final : public HeadRecurrence {
 public:
  const Op& op() const override { return rwkv_wkv7_op(); }

 protected:
  std::size_t states_source() const override { return 6; }

  void step_token(const HeadWalk& walk, std::int64_t token) const override {
    const std::int64_t keys = walk.call.sources[0].sizes[0];
    const std::int64_t values = walk.call.sources[3].sizes[0];
    const float* r = walk.row(0, walk.head, token);
    const float* w = walk.row(1, walk.head, token);
    const float* k = walk.row(2, walk.head, token);
    const float* v = walk.row(3, walk.head, token);
    const float* a = walk.row(4, walk.head, token);
    const float* b = walk.row(5, walk.head, token);
    float* y = walk.output(token, values);
    for (std::int64_t j = 0; j < values; ++j) {
      float* state = walk.state + j * keys;
      const float removed = simd::dot(walk.call.level(), a, state, keys);
      y[j] = simd::update_and_read(walk.call.level(), state, w, k, v[j], b, removed, r, keys);
    }
  }
};

}  // namespace

KernelList rwkv_wkv7_kernels() {
  return list_kernels<CpuKernel, RwkvWkv7>();
}

}  // namespace shunt::cpu
