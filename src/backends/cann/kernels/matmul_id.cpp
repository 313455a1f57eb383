// Products with the matrices of experts, which the ids choose. The host does not know the ids: few
// columns get copies of their matrices; many are sorted by expert, and each expert's columns are a
// group of one product.
#include <algorithm>

#include "backends/cann/kernel.h"
#include "backends/cann/products.h"
#include "backends/cann/whole.h"
#include "shunt/ops/matrix.h"

namespace shunt::cann {

namespace {

constexpr std::size_t kExpertW = 0;
constexpr std::size_t kExpertX = 1;
constexpr std::size_t kExpertIds = 2;

/// The largest number of columns that get copies of their matrices.
constexpr std::int64_t kFewColumns = 16;
/// Elements of matrices that are copied or decoded at once.
constexpr std::int64_t kCopiedElements = kDecodedElements;
/// The same for groups, of rearranged ones and of blocks.
constexpr std::int64_t kUnpackedForGroups = std::int64_t{1} << 28;
constexpr std::int64_t kDecodedForGroups = std::int64_t{1} << 25;
constexpr std::int64_t kMostExpertGroups = 1024;

/// The matrices [K, M, E] of a node.
class Experts {
 public:
  Experts(const Operands& node, const ProductNumbers& numbers)
      : node_(node), numbers_(numbers), rearranged_(cann::is_rearranged(node.view(), kExpertW)) {
    const Sizes sizes = node.sizes(kExpertW);
    k = sizes[0];
    m = sizes[1];
    count = sizes[2];
  }
  bool is_rearranged() const { return rearranged_; }
  /// Whether matrices are decoded before they are multiplied.
  bool is_decoded() const { return rearranged_ || has_blocks(node_.dtype(kExpertW)); }

  WeightParts parts() const { return weight_parts(node_, kExpertW); }
  /// Copies by index, as a factor: [K, M, N].
  View pick(Calls& calls, const View& indices) const {
    if (has_blocks(node_.dtype(kExpertW))) {
      const View moved = moved_view(stored_source(node_, kExpertW), calls.chip()).without(3);
      const StoredTensor picked = stored_in(node_.dtype(kExpertW), select(calls, moved, indices));
      return dequantize(calls, picked, numbers_.type);
    }
    const View w = node_.source(kExpertW).without(3);
    const bool turned = !w.is_contiguous() && w.transposed().is_contiguous();
    const View picked =
        product_factor(calls, select(calls, turned ? w.transposed() : w, indices), numbers_.type);
    return turned ? picked.transposed() : picked;
  }
  /// Matrices [first, first + n), as a factor.
  View range(Calls& calls, std::int64_t first, std::int64_t n) const {
    if (rearranged_) return dequantize(calls, parts().matrices(first, n), numbers_.type);
    if (!has_blocks(node_.dtype(kExpertW)))
      return product_factor(calls, node_.source(kExpertW).without(3).sliced(2, first, n),
                            numbers_.type);
    StoredTensor part = stored_source(node_, kExpertW);
    if (part.data != nullptr) part.data += first * part.strides[2];
    part.sizes[2] = n;
    return dequantize(calls, part, numbers_.type).without(3);
  }

  std::int64_t k = 0, m = 0, count = 0;

 private:
  static View select(Calls& calls, const View& from, const View& indices) {
    View::Dims sizes = from.sizes();
    sizes[2] = indices.size(0);
    const View picked = calls.temporary(from.type(), std::move(sizes));
    calls(kIndexSelect, from, from.vendor_dim(2), indices, picked);
    return picked;
  }

  const Operands& node_;
  const ProductNumbers& numbers_;
  bool rearranged_;
};

/// Columns x [K, P] whose experts are ids [P], and their results y [M, P], F32.
struct Columns {
  View ids, x, y;
  Columns part(std::int64_t first, std::int64_t n) const {
    return {ids.sliced(0, first, n), x.sliced(1, first, n), y.sliced(1, first, n)};
  }
  std::int64_t count() const { return ids.size(0); }
};

/// Each column with a copy of its matrix, some at a time.
void multiply_copies(Calls& calls, const ProductNumbers& numbers, const Experts& experts,
                     const Columns& columns) {
  const std::int64_t most =
      std::clamp<std::int64_t>(kCopiedElements / (experts.k * experts.m), 1, columns.count());
  for (std::int64_t first = 0; first < columns.count(); first += most) {
    const Calls::Scope scope(calls);
    const std::int64_t n = std::min(most, columns.count() - first);
    const Columns part = columns.part(first, n);
    if (!experts.is_rearranged()) {
      multiply(calls, numbers, experts.pick(calls, part.ids), part.x.with_dim(1),
               part.y.with_dim(1));
      continue;
    }
    const WeightParts picked = pick_matrices(calls, experts.parts(), part.ids);
    for (std::int64_t i = 0; i < n; ++i) {
      const Calls::Scope of_one(calls);
      const Columns one = part.part(i, 1);
      multiply(calls, picked.matrices(i, 1), one.x, one.y);
    }
  }
}

/// Groups of rows of x times matrices of w: `ends` has the end of each group, Int64.
void multiply_groups(Calls& calls, const View& w, const View& x, const View& ends, const View& y) {
  constexpr std::int64_t kOneResult = 2;
  constexpr std::int64_t kByRows = 0;
  calls(kGroupedMatmulV3, std::vector{x}, std::vector{w.transposed()}, std::nullopt, std::nullopt,
        std::nullopt, std::nullopt, std::nullopt, ends, kOneResult, kByRows, std::vector{y});
}

/// Experts whose columns are multiplied at once.
std::int64_t groups_at_once(const Experts& experts) {
  const std::int64_t most = std::min(experts.count, kMostExpertGroups);
  if (!experts.is_decoded()) return most;
  const std::int64_t elements = experts.is_rearranged() ? kUnpackedForGroups : kDecodedForGroups;
  return std::clamp<std::int64_t>(elements / (experts.k * experts.m), 1, most);
}

/// Whether the chip multiplies groups of these sizes.
bool has_groups(const CannTarget& target, const ProductNumbers& numbers, const Experts& experts,
                std::int64_t columns) {
  CallPlan plan;
  Calls calls(*target.context, plan);
  const std::int64_t n = groups_at_once(experts);
  multiply_groups(calls, {numbers.type, {experts.k, experts.m, n}, nullptr},
                  {numbers.type, {experts.k, columns}, nullptr}, {DataType::kInt64, {n}, nullptr},
                  {numbers.type, {experts.m, columns}, nullptr});
  return static_cast<bool>(calls.status());
}

View like(Calls& calls, DataType type, const View& like) {
  return calls.temporary(type, like.sizes());
}

View sorted_order(Calls& calls, const View& keys) {
  const View order = like(calls, DataType::kInt64, keys);
  calls(kArgsort, keys, keys.vendor_dim(0), false, order);
  return calls.cast(order, DataType::kInt32);
}

/// The numbers of experts from `first` on, and `n` of all others. F32.
View keys_of(Calls& calls, const View& ids, std::int64_t first, std::int64_t n) {
  const auto number = [](std::int64_t value) { return Scalar(static_cast<double>(value)); };
  const View all = calls.cast(ids, DataType::kFloat);
  const View from = like(calls, DataType::kFloat, all);
  const View below = like(calls, DataType::kFloat, all);
  const View inside = like(calls, DataType::kFloat, all);
  calls(kGeScalar, all, number(first), from);
  calls(kLtScalar, all, number(first + n), below);
  calls(kMul, from, below, inside);
  const View shifted = like(calls, DataType::kFloat, all);
  calls(kAdds, all, number(-first - n), number(1), shifted);
  const View kept = like(calls, DataType::kFloat, all);
  calls(kMul, shifted, inside, kept);
  const View keys = like(calls, DataType::kFloat, all);
  calls(kAdds, kept, number(n), number(1), keys);
  return keys;
}

/// How many keys are at most 0, 1, ... n - 1. Int64 [n].
View ends_of(Calls& calls, const View& keys, std::int64_t n) {
  const View limits = calls.temporary(DataType::kFloat, {n});
  calls(kArange, Scalar(1.0), Scalar(static_cast<double>(n + 1)), Scalar(1.0), limits);
  const View is_below = calls.temporary(DataType::kInt32, {keys.size(0), n});
  calls(kLtTensor, keys.with_dim(1), limits.with_dim(0), is_below);
  const View ends = calls.temporary(DataType::kInt64, {n});
  calls(kReduceSum, is_below, std::vector{is_below.vendor_dim(0)}, false, DataType::kInt64, ends);
  return ends;
}

/// Rows of a matrix by index.
View rows_at(Calls& calls, const View& matrix, const View& indices) {
  const View rows = like(calls, matrix.type(), matrix);
  calls(kIndexSelect, matrix, matrix.vendor_dim(1), indices, rows);
  return rows;
}

/// The columns of some experts at a time, in the order of the experts. Others are behind them, and
/// have zeros as results.
void multiply_sorted(Calls& calls, const ProductNumbers& numbers, const Experts& experts,
                     const Columns& columns) {
  const std::int64_t most = groups_at_once(experts);
  for (std::int64_t first = 0; first < experts.count; first += most) {
    const Calls::Scope scope(calls);
    const std::int64_t n = std::min(most, experts.count - first);
    const View keys = keys_of(calls, columns.ids, first, n);
    const View order = sorted_order(calls, keys);
    const View x = rows_at(calls, columns.x, order);
    const View y = calls.temporary(numbers.type, columns.y.sizes());
    if (n < experts.count) calls.fill(y, 0.0F);
    multiply_groups(calls, experts.range(calls, first, n), x, ends_of(calls, keys, n), y);
    const View own = rows_at(calls, y, sorted_order(calls, order));
    if (first == 0) {
      calls.copy(columns.y, own);
    } else {
      calls(kInplaceAdd, columns.y, calls.cast(own, columns.y.type()), 1.0F);
    }
  }
}

class MatmulId final : public CannKernel {
 public:
  const Op& op() const override { return matmul_id_op(); }
  bool reads_rearranged(const NodeView&, std::size_t source) const override {
    return source == kExpertW;
  }
  Support accepts(const NodeView& view, const CannTarget& target) const override {
    return product_support(view, kExpertW, target);
  }
  double rounding_error(const NodeView& view, const CannTarget& target) const override {
    const DType w = view.source(kExpertW).dtype;
    if (trait(w).quantized) return 0;  // the op allows as much
    const ProductNumbers numbers = product_numbers(w, target);
    return product_rounding(view, kExpertW, kExpertX, numbers, *target.chip) +
           group_rounding(view.result(), numbers);
  }
  double largest_number(const NodeView& view, const CannTarget& target) const override {
    const ProductNumbers numbers = product_numbers(view.source(kExpertW).dtype, target);
    return largest_of(numbers.type, *target.chip);
  }

  void compute(Calls& calls, const Operands& node, const CannTarget& target) const override {
    const ProductNumbers numbers = product_numbers(node.dtype(kExpertW), target);
    const Experts experts(node, numbers);
    const View ids =
        calls.indices(node.source(kExpertIds), node.content(kExpertIds), experts.count);
    if (experts.k == 0 || experts.count == 0) return calls.fill(node.result(), 0.0F);
    write_whole(calls, node.result(), [&](const View& y) {
      multiply_all(calls, node, target, numbers, experts, ids, y);
    });
  }

 private:
  static void multiply_all(Calls& calls, const Operands& node, const CannTarget& target,
                           const ProductNumbers& numbers, const Experts& experts, const View& ids,
                           const View& y) {
    const std::int64_t count = ids.elements();
    const Columns columns = {ids.reshaped({count}), columns_of(calls, node, numbers.type),
                             y.reshaped({experts.m, count})};
    const bool sorts =
        count > kFewColumns && has_groups(target, numbers, experts, most_columns(node));
    if (sorts) {
      const Calls::Scope scope(calls);
      multiply_sorted(calls, numbers, experts, columns);
      if (!calls.is_plan()) return;
    }
    // A run may have fewer columns than the plan.
    const Calls::Scope scope(calls);
    multiply_copies(calls, numbers, experts, sorts ? columns.part(0, kFewColumns) : columns);
  }

  static std::int64_t most_columns(const Operands& node) {
    return element_count(node.tensor(kExpertIds).shape);
  }

  /// x [K, U, T] or [K, 1, T] as [K, U * T].
  static View columns_of(Calls& calls, const Operands& node, DataType type) {
    const View x = calls.contiguous(product_factor(calls, node.source(kExpertX), type));
    const std::int64_t used = node.sizes(kExpertIds)[0];
    if (x.size(1) == used) return x.merged(2).merged(1);
    const View repeated = calls.temporary(type, {x.size(0), used, x.size(2), 1});
    calls(kRepeat, x, std::vector<std::int64_t>{1, 1, used, 1}, repeated);
    return repeated.merged(2).merged(1);
  }
};

}  // namespace

KernelList matmul_id_kernels() {
  return list_kernels<CannKernel, MatmulId>();
}

}  // namespace shunt::cann
