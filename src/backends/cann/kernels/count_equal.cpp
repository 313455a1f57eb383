#include <limits>

#include "backends/cann/kernel.h"
#include "shunt/ops/training.h"

namespace shunt::cann {

namespace {

/// The halves of Int64 numbers along a new dimension 0: not every chip compares Int64.
View halves(Calls& calls, const View& x) {
  const View wide = calls.contiguous(calls.cast(x, DataType::kInt64));
  View::Dims sizes = wide.sizes();
  sizes.insert(sizes.begin(), 2);
  return {DataType::kInt32, std::move(sizes), wide.data()};
}

class CountEqual final : public CannKernel {
 public:
  const Op& op() const override { return count_equal_op(); }

  Support accepts(const NodeView& view, const CannTarget&) const override {
    if (element_count(view.source(0).shape) <= std::numeric_limits<std::int32_t>::max())
      return Support::yes();
    return Support::no(Refusal::kShape, "more elements than an I32 counts");
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const View a = node.source(0);
    const View b = node.source(1);
    if (a.is_empty()) return calls.fill(node.result(), 0);
    const bool narrow = a.type() == DataType::kInt32 && b.type() == DataType::kInt32;
    View same = narrow ? equal(calls, a, b) : equal(calls, halves(calls, a), halves(calls, b));
    if (!narrow) same = both(calls, same);
    const View count = calls.temporary(DataType::kInt32, {1, 1, 1, 1});
    calls(kReduceSum, same, {0, 1, 2, 3}, true, DataType::kInt32, count);
    calls.copy(node.result(), count);
  }

 private:
  static View equal(Calls& calls, const View& a, const View& b) {
    const View same = calls.temporary(DataType::kInt32, a.sizes());
    calls(kEqTensor, a, b, same);
    return same;
  }

  /// Whether both halves are the same.
  static View both(Calls& calls, const View& same) {
    const View all = calls.temporary(DataType::kInt32, same.without(0).sizes());
    calls(kAmin, same, {same.vendor_dim(0)}, false, all);
    return all;
  }
};

}  // namespace

KernelList count_equal_kernels() {
  return list_kernels<CannKernel, CountEqual>();
}

}  // namespace shunt::cann
