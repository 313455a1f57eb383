#include "backends/cpu/kernels/rows.h"
#include "shunt/ops/matrix.h"

namespace shunt::cpu {

namespace {

/// Right-hand sides that share each read of a.
constexpr std::int64_t kSolvedColumns = 64;

/// An item is some right-hand sides of one matrix, solved equation by equation. Sums are in double
/// precision, as each solution enters all that follow.
class SolveTri final : public AnyCaseKernel {
 public:
  const Op& op() const override { return solve_tri_op(); }
  std::int64_t items(const Call& call, int) const override {
    const Sizes& sizes = call.result.sizes;
    return ceil_div(sizes[0], kSolvedColumns) * sizes[2] * sizes[3];
  }
  /// An item reads an equation of b before it writes its solution there.
  int in_place_source() const override { return 1; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const Sizes& sizes = call.result.sizes;
    const std::int64_t across = ceil_div(sizes[0], kSolvedColumns);
    for (std::int64_t item = begin; item < end; ++item) {
      solve(call, item % across * kSolvedColumns, item / across % sizes[2],
            item / across / sizes[2]);
    }
    return Fault::kNone;
  }

 private:
  static void solve(const Call& call, std::int64_t first, std::int64_t i2, std::int64_t i3) {
    const auto& params = call.params->get<SolveTriParams>();
    const TensorArg& a = call.sources[0];
    const TensorArg& b = call.sources[1];
    const TensorArg& x = call.result;
    const bool lower = params.triangle == Triangle::kLower;
    const std::int64_t equations = b.sizes[1];
    const std::int64_t count = std::min(kSolvedColumns, x.sizes[0] - first);
    const std::int64_t a2 = i2 / (b.sizes[2] / a.sizes[2]);
    const std::int64_t a3 = i3 / (b.sizes[3] / a.sizes[3]);
    double rest[kSolvedColumns] = {};
    for (std::int64_t step = 0; step < equations; ++step) {
      const std::int64_t i = lower ? step : equations - 1 - step;
      const std::byte* row = a.row(i, a2, a3);
      const auto coefficient = [&](std::int64_t j) {
        float value = 0;
        std::memcpy(&value, row + j * a.strides[0], sizeof value);
        return static_cast<double>(value);
      };
      std::byte* right = b.row(i, i2, i3) + first * b.strides[0];
      for (std::int64_t r = 0; r < count; ++r) rest[r] = *as_f32(right + r * b.strides[0]);
      for (std::int64_t j = lower ? 0 : i + 1; j < (lower ? i : equations); ++j) {
        const double factor = coefficient(j);
        const float* known = as_f32(x.row(j, i2, i3)) + first;
        for (std::int64_t r = 0; r < count; ++r) rest[r] -= factor * known[r];
      }
      const double diagonal = params.unit ? 1.0 : coefficient(i);
      float* solution = as_f32(x.row(i, i2, i3)) + first;
      for (std::int64_t r = 0; r < count; ++r) {
        solution[r] = static_cast<float>(rest[r] / diagonal);
      }
    }
  }
};

}  // namespace

KernelList solve_tri_kernels() {
  return list_kernels<CpuKernel, SolveTri>();
}

}  // namespace shunt::cpu
