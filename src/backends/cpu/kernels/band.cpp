// Ops that keep a stretch of each row and make the rest constant: diag, tri, diag_mask_inf.
#include <limits>

#include "backends/cpu/kernels/constant.h"
#include "backends/cpu/kernels/copy.h"
#include "shunt/ops/data.h"

namespace shunt::cpu {

namespace {

/// Columns [begin, end) of a row are kept; it may say more than there are.
struct Kept {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

Kept keep_diag(const Params&, std::int64_t row) {
  return {row, row + 1};
}

Kept keep_tri(const Params& params, std::int64_t row) {
  const auto& tri = params.get<TriParams>();
  if (tri.triangle == Triangle::kLower) return {0, row + (tri.diagonal ? 1 : 0)};
  return {row + (tri.diagonal ? 0 : 1), kAll};
}

Kept keep_seen(const Params& params, std::int64_t row) {
  const std::int64_t n_past = params.get<DiagMaskInfParams>().n_past;
  return {0, n_past < kAll - row ? n_past + row + 1 : kAll};
}

class Band final : public PieceKernel {
 public:
  Band(const Op& op, Kept (*keep)(const Params&, std::int64_t row), float rest)
      : op_(op), keep_(keep), rest_(rest) {}
  const Op& op() const override { return op_; }

  Fault run(const Call& call, int, std::int64_t begin, std::int64_t end,
            std::byte*) const override {
    const TensorArg& x = call.sources[0];
    const TensorArg& y = call.result;
    const Constant rest(rest_, y.dtype);
    for_each_piece(y, begin, end, [&](const RowIndex& at, std::int64_t first, std::int64_t count) {
      const Kept kept = keep_(*call.params, at.i1);
      const std::int64_t low = std::clamp(kept.begin, first, first + count);
      const std::int64_t high = std::clamp(kept.end, low, first + count);
      std::byte* to = row_data(y, at);
      rest.write(to, first, low - first);
      // Of a vector, each row takes from the only one.
      std::byte* from = x.row(x.sizes[1] == 1 ? 0 : at.i1, at.i2, at.i3);
      if (high > low) copy_run(x, from, low, y, to, low, high - low, nullptr);
      rest.write(to, high, first + count - high);
    });
    return Fault::kNone;
  }

 private:
  const Op& op_;
  Kept (*keep_)(const Params&, std::int64_t row);
  float rest_;
};

}  // namespace

KernelList band_kernels() {
  static const Band kDiag(diag_op(), keep_diag, 0);
  static const Band kTri(tri_op(), keep_tri, 0);
  static const Band kMask(diag_mask_inf_op(), keep_seen, -std::numeric_limits<float>::infinity());
  static constexpr const CpuKernel* kKernels[] = {&kDiag, &kTri, &kMask};
  return kKernels;
}

}  // namespace shunt::cpu
