#include "backend_support/kernel_rows.h"
#include "backends/cann/blocks.h"
#include "backends/cann/kernel.h"
#include "backends/cann/rope_tables.h"
#include "shunt/ops/attention.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// Rope, or its gradient, which turns back.
struct RopeRow {
  const Op& (*op)();
  float direction;
};
constexpr std::array kRopeRows = {RopeRow{rope_op, 1}, RopeRow{rope_back_op, -1}};

/// Elements of a row that the vendor's operator takes. Its documents say 896, and 1024.
constexpr std::int64_t kMostWidth = 896;
/// Its modes: pairs are in both halves of a row, or neighbours.
enum VendorMode : std::int64_t { kHalf = 0, kInterleave = 1 };

class Rope final : public CannKernel {
 public:
  explicit Rope(const RopeRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  bool needs_bf16() const override { return false; }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const auto& params = node.params<RopeParams>();
    const View x = elements_of(calls, stored_source(node, 0), DataType::kFloat);
    const View result = node.result();
    const bool is_whole = params.dims == x.size(0);
    if (is_whole && target.chip->rotary && params.dims <= kMostWidth) {
      const RopeTables tables = rope_tables(calls, node, row_.direction, RopeSines::kSame);
      calls(kRotaryPositionEmbedding, x, tables.cosines, tables.sines,
            params.mode == RopeMode::kNormal ? kInterleave : kHalf, result);
      return;
    }
    if (is_whole) return turn(calls, node, x, result);
    turn(calls, node, x.sliced(0, 0, params.dims), result.sliced(0, 0, params.dims));
    const std::int64_t rest = x.size(0) - params.dims;
    calls.copy(result.sliced(0, params.dims, rest), x.sliced(0, params.dims, rest));
  }

 private:
  /// All elements of x.
  void turn(Calls& calls, const Operands& node, const View& x, const View& result) const {
    const auto& params = node.params<RopeParams>();
    const RopeTables tables = rope_tables(calls, node, row_.direction, RopeSines::kOpposite);
    const View swapped = calls.temporary(DataType::kFloat, x.sizes());
    calls.copy(firsts_of_pairs(swapped, params), seconds_of_pairs(x, params));
    calls.copy(seconds_of_pairs(swapped, params), firsts_of_pairs(x, params));
    calls(kInplaceMul, swapped, tables.sines);
    const View straight = calls.temporary(DataType::kFloat, x.sizes());
    calls(kMul, x, tables.cosines, straight);
    calls(kAdd, straight, swapped, 1.0F, result);
  }

  const RopeRow& row_;
};

}  // namespace

KernelList rope_kernels() {
  static const KernelRows<Rope, CannKernel> kKernels(kRopeRows);
  return kKernels.list();
}

}  // namespace shunt::cann
