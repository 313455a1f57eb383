#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/order.h"

namespace shunt::cpu {

namespace {

class Argmax final : public AnyCaseKernel {
 public:
  const Op& op() const override { return argmax_op(); }
  std::int64_t items(const Call& call, int) const override { return call.sources[0].rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.sources[0].sizes[0]);
  }
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const override {
    return view_f32_bytes(node.source(0), node.source(0).size(0));
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& x = call.sources[0];
    const TensorArg& y = call.result;  // [R, X2, X3]: one dimension less
    const std::int64_t n = x.sizes[0];
    for_each_row(x.sizes, begin, end, [&](const RowIndex& at) {
      const float* row = view_f32(x, row_data(x, at), 0, n, as_f32(scratch));
      const std::int64_t found = simd::find(call.level(), row, simd::max(call.level(), row, n), n);
      // Not found: the largest is not a number, and any index will do.
      const auto index = static_cast<std::int32_t>(found < n ? found : 0);
      std::byte* to = y.data + at.i1 * y.strides[0] + at.i2 * y.strides[1] + at.i3 * y.strides[2];
      std::memcpy(to, &index, sizeof index);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList argmax_kernels() {
  return list_kernels<CpuKernel, Argmax>();
}

}  // namespace shunt::cpu
