// Ops that move elements of any type, whole blocks of block types, and change none.
#include <algorithm>

#include "backend_support/kernel_rows.h"
#include "backends/cann/conversions.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/data.h"

namespace shunt::cann {

namespace {

/// x and y of a node, as elements that are moved.
struct Moved {
  const Operands& node;
  View x;
  View y;
};

void copy_all(Calls& calls, const Moved& moved) {
  calls.copy(moved.y, moved.x);
}

void repeat(Calls& calls, const Moved& moved) {
  std::vector<std::int64_t> times;
  for (std::size_t d = kMaxDims; d-- > 0;) times.push_back(moved.y.size(d) / moved.x.size(d));
  calls(kRepeat, moved.x, times, moved.y);
}

/// x mod n, at least 0.
std::int64_t modulo(std::int64_t x, std::int64_t n) {
  return (x % n + n) % n;
}

void roll(Calls& calls, const Moved& moved) {
  std::vector<std::int64_t> shifts;
  std::vector<std::int64_t> dims;
  const Sizes& shift = moved.node.params<RollParams>().shift;
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    const std::int64_t by =
        modulo(d == 0 ? moved_count(moved.node.dtype(0), shift[0]) : shift[d], moved.y.size(d));
    if (by == 0) continue;
    shifts.push_back(by);
    dims.push_back(moved.y.vendor_dim(d));
  }
  if (dims.empty()) return calls.copy(moved.y, moved.x);
  calls(kRoll, moved.x, shifts, dims, moved.y);
}

void concat(Calls& calls, const Moved& moved) {
  const View b = moved_view(stored_source(moved.node, 1), calls.chip());
  const auto dim = static_cast<std::size_t>(moved.node.params<ConcatParams>().dim);
  if (b.is_empty()) return calls.copy(moved.y, moved.x);
  if (moved.x.is_empty()) return calls.copy(moved.y, b);
  calls(kCat, std::vector{moved.x, b}, moved.y.vendor_dim(dim), moved.y);
}

void pad_circular(Calls& calls, const Moved& moved) {
  const auto& params = moved.node.params<PadParams>();
  View made = moved.x;
  for (std::size_t d = 0; d < kMaxDims; ++d) {
    if (params.before[d] == 0 && params.after[d] == 0) continue;
    // A dimension over and over, from its start on, has the result as a window.
    const std::int64_t before =
        d == 0 ? moved_count(moved.node.dtype(0), params.before[0]) : params.before[d];
    const std::int64_t n = made.size(d);
    const std::int64_t start = modulo(-before, n);
    const std::int64_t times = (start + moved.y.size(d) + n - 1) / n;
    std::vector<std::int64_t> repeats(kMaxDims, 1);
    repeats[static_cast<std::size_t>(made.vendor_dim(d))] = times;
    View::Dims sizes = made.sizes();
    sizes[d] = n * times;
    const View repeated = calls.temporary(made.type(), std::move(sizes));
    calls(kRepeat, made, repeats, repeated);
    made = repeated.sliced(d, start, moved.y.size(d));
  }
  calls.copy(moved.y, made);
}

/// The rest of the result is the number.
void pad_constant(Calls& calls, const Moved& moved) {
  const auto& params = moved.node.params<PadParams>();
  fill_exactly(calls, stored_result(moved.node), params.value);
  if (moved.x.is_empty()) return;
  View window = moved.y;
  for (std::size_t d = 0; d < kMaxDims; ++d)
    window = window.sliced(d, params.before[d], moved.x.size(d));
  calls.copy(window, moved.x);
}

void pad(Calls& calls, const Moved& moved) {
  const bool circular = moved.node.params<PadParams>().padding == Padding::kCircular;
  circular ? pad_circular(calls, moved) : pad_constant(calls, moved);
}

/// The diagonals of the result.
void diag(Calls& calls, const Moved& moved) {
  fill_exactly(calls, stored_result(moved.node), 0);
  View::Dims strides = moved.y.strides();
  strides[0] += strides[1];
  calls.copy(View(moved.y.type(), moved.x.sizes(), std::move(strides), moved.y.data()), moved.x);
}

void tri(Calls& calls, const Moved& moved) {
  const auto& params = moved.node.params<TriParams>();
  const std::int64_t off = params.diagonal ? 0 : 1;
  if (params.triangle == Triangle::kLower) {
    calls(kTril, moved.x, -off, moved.y);
  } else {
    calls(kTriu, moved.x, off, moved.y);
  }
}

struct MoveRow {
  const Op& (*op)();
  void (*compute)(Calls& calls, const Moved& moved);
};
constexpr std::array kMoveRows = {MoveRow{cont_op, copy_all}, MoveRow{dup_op, copy_all},
                                  MoveRow{repeat_op, repeat}, MoveRow{roll_op, roll},
                                  MoveRow{concat_op, concat}, MoveRow{pad_op, pad},
                                  MoveRow{diag_op, diag},     MoveRow{tri_op, tri}};

class Move final : public CannKernel {
 public:
  explicit Move(const MoveRow& row) : row_(row) {}
  const Op& op() const override { return row_.op(); }
  bool needs_bf16() const override { return false; }
  Support accepts(const NodeView&, const CannTarget&) const override { return Support::yes(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    row_.compute(calls, {node, moved_view(stored_source(node, 0), calls.chip()),
                         moved_view(stored_result(node), calls.chip())});
  }

 private:
  const MoveRow& row_;
};

}  // namespace

KernelList move_kernels() {
  static const KernelRows<Move, CannKernel> kKernels(kMoveRows);
  return kKernels.list();
}

}  // namespace shunt::cann
