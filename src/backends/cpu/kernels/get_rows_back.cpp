#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rows.h"
#include "backends/cpu/simd/vector.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

constexpr std::int64_t kSummedColumns = 64;

/// An item is some columns of all rows: a row that occurs several times is then summed up by one
/// thread, in the order of dy.
class GetRowsBack final : public AnyCaseKernel {
 public:
  const Op& op() const override { return get_rows_back_op(); }
  std::int64_t items(const Call& call, int) const override {
    return ceil_div(call.result.sizes[0], kSummedColumns);
  }
  std::size_t worker_scratch(const NodeView&, const CpuTarget&) const override {
    return static_cast<std::size_t>(kSummedColumns) * sizeof(float);
  }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte* scratch) const override {
    const TensorArg& dy = call.sources[0];
    const TensorArg& y = call.result;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t first = item * kSummedColumns;
      const std::int64_t count = std::min(kSummedColumns, y.sizes[0] - first);
      for (std::int64_t row = 0; row < y.sizes[1]; ++row) {
        std::fill_n(as_f32(y.row(row)) + first, count, 0.0F);
      }
      for (std::int64_t i = 0; i < dy.sizes[1]; ++i) {
        const std::int64_t id = integer_at(call.sources[1], i);
        if (id < 0 || id >= y.sizes[1]) return Fault::kIndexOutOfRange;
        float* to = as_f32(y.row(id)) + first;
        simd::add(call.level(), to, view_f32(dy, dy.row(i), first, count, as_f32(scratch)), to,
                  count);
      }
    }
    return Fault::kNone;
  }
};

}  // namespace

KernelList get_rows_back_kernels() {
  return list_kernels<CpuKernel, GetRowsBack>();
}

}  // namespace shunt::cpu
