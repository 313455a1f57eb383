#include "backends/cpu/kernels/window.h"

namespace shunt::cpu {

namespace {

class Im2col final : public AnyCaseKernel {
 public:
  const Op& op() const override { return im2col_op(); }
  std::int64_t items(const Call& call, int) const override { return call.result.rows(); }
  std::int64_t grain(const Call& call, int) const override {
    return grain_for(call.result.sizes[0]);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const auto& params = call.params->get<Im2colParams>();
    const Image image(call.sources[0], params.kernel, params.stride, params.pad, params.dilation);
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      image.read(at.i1, at.i2, at.i3, 0, call.result.sizes[0], as_f32(row_data(call.result, at)));
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList im2col_kernels() {
  static const Im2col kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
