#include "backends/cpu/kernels/window.h"

namespace shunt::cpu {

namespace {

/// An item is a row of the result: the elements that a window sees.
class Im2colKernel : public RowKernel {
 public:
  std::size_t worker_scratch(const NodeView& node, const CpuTarget&) const final {
    return node.result().dtype == DType::kF32 ? 0 : kPiece * sizeof(float);
  }

 protected:
  static void write(const Image& image, const Triple& position, std::int64_t n, const Call& call,
                    std::byte* row, std::byte* scratch) {
    const TensorArg& y = call.result;
    if (y.dtype == DType::kF32) return image.read(position, n, 0, y.sizes[0], as_f32(row));
    for (std::int64_t first = 0; first < y.sizes[0]; first += kPiece) {
      const std::int64_t count = std::min(kPiece, y.sizes[0] - first);
      image.read(position, n, first, count, as_f32(scratch));
      simd::encode(call.level(), as_f32(scratch), y.dtype, element(y, row, first), count);
    }
  }
};

class Im2col final : public Im2colKernel {
 public:
  const Op& op() const override { return im2col_op(); }
  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<Im2colParams>();
    const Image image(call.sources[0], params.kernel, params.stride, params.pad, params.dilation);
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      write(image, {at.i1, at.i2, 0}, at.i3, call, row_data(call.result, at), scratch);
    });
    return Fault::kNone;
  }
};

class Im2col3d final : public Im2colKernel {
 public:
  const Op& op() const override { return im2col_3d_op(); }
  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<Im2col3dParams>();
    const Image image(call.sources[0], params.channels, params.kernel, params.stride, params.pad,
                      params.dilation);
    const std::int64_t along_z = image.z().count();
    for_each_row(call.result.sizes, begin, end, [&](const RowIndex& at) {
      write(image, {at.i1, at.i2, at.i3 % along_z}, at.i3 / along_z, call,
            row_data(call.result, at), scratch);
    });
    return Fault::kNone;
  }
};

}  // namespace

KernelList im2col_kernels() {
  return list_kernels<CpuKernel, Im2col, Im2col3d>();
}

}  // namespace shunt::cpu
