#include "backends/cpu/kernels/tile.h"
#include "backends/cpu/kernels/window.h"

// A product of matrices whose rows are what windows see, read where they are needed, and whose
// columns are kernels. An item is a tile of the result: neighbouring positions (in the order in
// which they lie) times some output channels.

namespace shunt::cpu {

namespace {

/// Reading a window costs about as much as multiplying it with a hundred kernels.
constexpr std::int64_t kOutputs = 2 * kTileColumns;

class Conv2d final : public AnyCaseKernel {
 public:
  const Op& op() const override { return conv_2d_op(); }
  std::int64_t items(const Call& call, int) const override {
    const Sizes& y = call.result.sizes;
    return ceil_div(y[0] * y[1], kTileRows) * ceil_div(y[2], kOutputs) * y[3];
  }
  std::size_t worker_scratch(const NodeView&) const override {
    return static_cast<std::size_t>(kTileScratch) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const auto& params = call.params->get<Conv2dParams>();
    const TensorArg& w = call.sources[0];
    const Image image(call.sources[1], {w.sizes[0], w.sizes[1]}, params.stride, params.pad,
                      params.dilation);
    const std::int64_t width = call.result.sizes[0];
    const std::int64_t positions = width * call.result.sizes[1];
    const std::int64_t outputs = call.result.sizes[2];
    const std::int64_t across = ceil_div(positions, kTileRows);
    const std::int64_t down = ceil_div(outputs, kOutputs);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t position = item % across * kTileRows;
      const std::int64_t output = item / across % down * kOutputs;
      const std::int64_t n = item / (across * down);
      multiply_tile(
          std::min(kTileRows, positions - position), std::min(kOutputs, outputs - output),
          w.sizes[0] * w.sizes[1] * w.sizes[2],
          [&](std::int64_t r, std::int64_t first, std::int64_t count, float* to) {
            image.read((position + r) % width, (position + r) / width, n, first, count, to);
          },
          [&](std::int64_t c, std::int64_t first, std::int64_t count, float* to) {
            read_kernel(w, output + c, first, count, to);
          },
          as_f32(call.result.row(0, output, n)) + position, positions, as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  /// Elements [first, first + count) of a kernel, numbered along x, then y, then channels.
  static void read_kernel(const TensorArg& w, std::int64_t output, std::int64_t first,
                          std::int64_t count, float* to) {
    const std::int64_t width = w.sizes[0];
    const auto size = static_cast<std::int64_t>(trait(w.dtype).block_bytes);
    if (w.strides[0] == size && w.strides[1] == width * size &&
        w.strides[2] == w.sizes[1] * w.strides[1]) {
      return simd::decode(w.dtype, w.row(0, 0, output) + first * size, to, count);
    }
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = first + done;
      const std::int64_t run = std::min(width - at % width, count - done);
      std::byte* row = w.row(at / width % w.sizes[1], at / (width * w.sizes[1]), output);
      read_f32(w, row, at % width, run, to + done);
      done += run;
    }
  }
};

}  // namespace

KernelList conv_2d_kernels() {
  static const Conv2d kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
