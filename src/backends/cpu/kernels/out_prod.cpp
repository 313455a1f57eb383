#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kRows = 512;   // of a's, whole blocks of every type: in the first cache
constexpr std::int64_t kColumns = 8;  // that share what is read of a

/// An item is a tile of the result, which adds up its outer products.
class OutProd final : public AnyCaseKernel {
 public:
  const Op& op() const override { return out_prod_op(); }
  std::int64_t items(const Call& call, int) const override {
    const Sizes& sizes = call.result.sizes;
    return ceil_div(sizes[0], kRows) * ceil_div(sizes[1], kColumns) * sizes[2] * sizes[3];
  }
  std::size_t worker_scratch(const NodeView&) const override {
    return static_cast<std::size_t>(kRows) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const Sizes& sizes = call.result.sizes;
    const std::int64_t across = ceil_div(sizes[0], kRows);
    const std::int64_t tiles = across * ceil_div(sizes[1], kColumns);
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t tile = item % tiles;
      add_up(call, tile % across * kRows, tile / across * kColumns, item / tiles % sizes[2],
             item / tiles / sizes[2], as_f32(scratch));
    }
    return Fault::kNone;
  }

 private:
  static void add_up(const Call& call, std::int64_t m, std::int64_t n, std::int64_t i2,
                     std::int64_t i3, float* room) {
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const TensorArg& y = call.result;
    const std::int64_t a2 = i2 / (b.sizes[2] / a.sizes[2]);
    const std::int64_t a3 = i3 / (b.sizes[3] / a.sizes[3]);
    const std::int64_t count = std::min(kRows, y.sizes[0] - m);
    const std::int64_t last = std::min(n + kColumns, y.sizes[1]);
    for (std::int64_t j = n; j < last; ++j) {
      std::fill_n(as_f32(y.row(j, i2, i3)) + m, count, 0.0F);
    }
    for (std::int64_t k = 0; k < a.sizes[1]; ++k) {
      const float* column = view_f32(a, a.row(k, a2, a3), m, count, room);
      for (std::int64_t j = n; j < last; ++j) {
        float* to = as_f32(y.row(j, i2, i3)) + m;
        simd::scale_add(column, *as_f32(b.row(k, i2, i3) + j * b.strides[0]), to, to, count);
      }
    }
  }
};

}  // namespace

KernelList out_prod_kernels() {
  static const OutProd kKernel;
  static constexpr const CpuKernel* kKernels[] = {&kKernel};
  return kKernels;
}

}  // namespace shunt::cpu
