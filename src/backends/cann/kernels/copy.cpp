// Ops that write a source into memory that is there, converted to its type.
#include <algorithm>
#include <array>
#include <utility>

#include "backends/cann/conversions.h"
#include "backends/cann/kernel.h"
#include "shunt/ops/data.h"
#include "shunt/ops/rows.h"

namespace shunt::cann {

namespace {

/// The sources are (dst, x, ...).
class Copy : public CannKernel {
 public:
  bool needs_bf16() const override { return false; }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    return can_convert(view.source(1).dtype, view.source(0).dtype, *target.chip);
  }
};

class Cpy final : public Copy {
 public:
  const Op& op() const override { return cpy_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    convert(calls, stored_result(node), stored_source(node, 1));
  }
};

class Set final : public Copy {
 public:
  const Op& op() const override { return set_op(); }
  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const StoredTensor x = stored_source(node, 1);
    StoredTensor window = stored_result(node);
    const Sizes& start = node.params<SetParams>().start;
    std::int64_t at = start[0] / trait(window.type).block_elements * window.strides[0];
    for (std::size_t d = 1; d < kMaxDims; ++d) at += start[d] * window.strides[d];
    if (window.data != nullptr) window.data += at;
    window.sizes = x.sizes;
    if (std::ranges::find(x.sizes, 0) == x.sizes.end()) convert(calls, window, x);
  }
};

class SetRows final : public Copy {
 public:
  const Op& op() const override { return set_rows_op(); }

  Support accepts(const NodeView& view, const CannTarget& target) const override {
    const Tensor& dst = view.source(0);
    constexpr std::int64_t kMost = std::int64_t{1} << 31;
    if (element_count({dst.shape[1], dst.shape[2], dst.shape[3]}) >= kMost)
      return Support::no(Refusal::kShape, "dst has more rows than indices of 32 bits can count");
    return Copy::accepts(view, target);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget&) const override {
    const StoredTensor from = stored_source(node, 1);
    const StoredTensor to = stored_result(node);
    if (std::ranges::find(from.sizes, 0) != from.sizes.end()) return;
    const View dst = moved_view(to, calls.chip());
    const View ids = calls.indices(node.source(2), node.content(2), to.sizes[1]);
    const View rows = converted(calls, from, to.type, dst.type());
    if (ids.size(1) == 1 && ids.size(2) == 1) {
      write_common(calls, dst, ids, rows);
    } else if (!dst.is_contiguous()) {
      write_each(calls, dst, ids, rows);
    } else {
      write_slices(calls, dst, ids, rows);
    }
  }

 private:
  /// The rows as elements that are moved, in the type of dst.
  static View converted(Calls& calls, const StoredTensor& from, DType type, DataType moved) {
    if (from.type == type) return moved_view(from, calls.chip());
    View::Dims sizes = from.sizes;
    sizes[0] = moved_count(type, sizes[0]);
    const View made = calls.temporary(moved, std::move(sizes));
    convert(calls, stored_in(type, made), from);
    return made;
  }

  /// All slices have the same indices: a call for the whole, in the order of its memory.
  static void write_common(Calls& calls, const View& dst, const View& ids, const View& rows) {
    std::array<std::size_t, kMaxDims> order = {0, 1, 2, 3};
    std::ranges::sort(order, {}, [&](std::size_t d) { return std::pair(dst.stride(d), d); });
    const auto in_order = [&](const View& view) {
      return view.permuted({order[0], order[1], order[2], order[3]});
    };
    const View ordered = in_order(dst);
    const auto dim = static_cast<std::size_t>(std::ranges::find(order, 1U) - order.begin());
    calls(kInplaceIndexCopy, ordered, ordered.vendor_dim(dim), ids.reshaped({ids.size(0)}),
          calls.contiguous(in_order(rows)));
  }

  /// A call for each slice.
  static void write_each(Calls& calls, const View& dst, const View& ids, const View& rows) {
    for (std::int64_t i3 = 0; i3 < rows.size(3); ++i3) {
      for (std::int64_t i2 = 0; i2 < rows.size(2); ++i2) {
        const auto slice = [](const View& view, std::size_t d2, std::int64_t at2,
                              std::int64_t at3) {
          return view.sliced(d2, at2, 1).sliced(d2 + 1, at3, 1);
        };
        write_common(calls, slice(dst, 2, i2, i3),
                     slice(ids, 1, i2 % ids.size(1), i3 % ids.size(2)), slice(rows, 2, i2, i3));
      }
    }
  }

  /// A call for all slices with indices of their own: all rows are counted through.
  static void write_slices(Calls& calls, const View& dst, const View& ids, const View& rows) {
    const std::int64_t count = rows.size(1);
    const View all = calls.temporary(DataType::kInt32, {count, rows.size(2), rows.size(3)});
    View repeated = ids.without(3);
    const std::int64_t times[] = {rows.size(2) / ids.size(1), rows.size(3) / ids.size(2)};
    if (times[0] * times[1] > 1) {
      repeated = calls.temporary(DataType::kInt32, all.sizes());
      calls(kRepeat, ids.without(3), std::vector<std::int64_t>{times[1], times[0], 1}, repeated);
    }
    const std::int64_t slices = rows.size(2) * rows.size(3);
    const View starts = calls.temporary(DataType::kInt32, {slices});
    calls(kArange, std::int64_t{0}, slices * dst.size(1), dst.size(1), starts);
    calls(kAdd, repeated, starts.reshaped({1, rows.size(2), rows.size(3)}), 1, all);
    const View whole = dst.reshaped({dst.size(0), dst.size(1) * slices});
    calls(kInplaceIndexCopy, whole, whole.vendor_dim(1), all.reshaped({count * slices}),
          calls.contiguous(rows).reshaped({rows.size(0), count * slices}));
  }
};

}  // namespace

KernelList copy_kernels() {
  return list_kernels<CannKernel, Cpy, Set, SetRows>();
}

}  // namespace shunt::cann
