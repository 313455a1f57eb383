#include "backends/cpu/kernels/integers.h"
#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/training.h"

namespace shunt::cpu {

namespace {

/// Phase 0 counts in each row, phase 1 adds up.
class CountEqual final : public AnyCaseKernel {
 public:
  const Op& op() const override { return count_equal_op(); }
  int phases() const override { return 2; }
  std::int64_t items(const Call& call, int phase) const override {
    return phase == 0 ? call.sources[0].rows() : 1;
  }
  std::int64_t grain(const Call& call, int phase) const override {
    return phase == 0 ? grain_for(call.sources[0].sizes[0]) : 1;
  }
  std::size_t scratch(const NodeView& node, const CpuTarget&) const override {
    const Tensor& a = node.source(0);
    return static_cast<std::size_t>(a.size(1) * a.size(2) * a.size(3)) * sizeof(std::int64_t);
  }

  Fault run(const Call& call, int phase, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    auto* counts = reinterpret_cast<std::int64_t*>(call.scratch);
    const std::int64_t rows = call.sources[0].rows();
    if (phase == 0) {
      for (std::int64_t row = begin; row < end; ++row) counts[row] = count_in(call, row);
      return Fault::kNone;
    }
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += counts[row];
    std::memcpy(call.result.data, &sum, sizeof sum);
    return Fault::kNone;
  }

 private:
  static std::int64_t count_in(const Call& call, std::int64_t row) {
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const auto [i1, i2, i3] = row_index(a.sizes, row);
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < a.sizes[0]; ++i) {
      count += integer_at(a, i, i1, i2, i3) == integer_at(b, i, i1, i2, i3) ? 1 : 0;
    }
    return count;
  }
};

}  // namespace

KernelList count_equal_kernels() {
  return list_kernels<CpuKernel, CountEqual>();
}

}  // namespace shunt::cpu
