#include "backends/cann/products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backend_support/error_share.h"
#include "backends/cann/fractal_memory.h"
#include "base/ceil_div.h"
#include "graph/storage_users.h"
#include "shunt/message.h"

namespace shunt::cann {

namespace {

constexpr int kF16Bits = 11;
constexpr double kMostF16 = 65504;

struct BitsRow {
  DataType type;
  CubeMath cube;
  int bits;
};
constexpr std::array kBits = {BitsRow{DataType::kFloat, CubeMath::kKeep, 24},
                              // 12 or 13 were measured.
                              BitsRow{DataType::kFloat, CubeMath::kHf32, 12},
                              BitsRow{DataType::kFloat16, CubeMath::kKeep, kF16Bits},
                              BitsRow{DataType::kBFloat16, CubeMath::kKeep, 8}};

bool in_half(CubeMath math) {
  return math == CubeMath::kF16 || math == CubeMath::kLowerPrecision;
}

Support f32_support(const NodeView& view, std::size_t source, const CannTarget& target) {
  const Chip& chip = *target.chip;
  if (chip.f32_products || in_half(target.f32_products)) return Support::yes();
  const Graph& graph = view.graph();
  if (is_weight(graph.node(graph.node(view.node().sources[source]).storage).role))
    return Support::yes_if(static_cast<int>(source), DType::kF16);
  return Support::no(
      Refusal::kType,
      fmt::format("a {} has no products of F32; --set cann.matmul=f16 rounds both factors to F16, "
                  "and --transcode lossy does so with weights",
                  chip.name));
}

/// Whether results of products with such a weight are F16. With FRACTAL_NZ they are by the vendor's
/// sources.
bool is_packed(const NodeView& view, std::size_t w) {
  return is_rearranged(view, w) || is_fractal(view, w);
}

double square_of_unit(int bits) {
  return bits < 24 ? std::ldexp(1.0, -2 * bits) : 0;
}

}  // namespace

DType weight_replacement(DType type, const Chip& chip) {
  // Chips without products of such weights decode them for each one.
  if (chip.quantized && at_least_as_precise(DType::kQ8_0, type)) return DType::kQ8_0;
  if (at_least_as_precise(DType::kF16, type)) return DType::kF16;
  if (chip.bf16 && at_least_as_precise(DType::kBF16, type)) return DType::kBF16;
  return DType::kF16;
}

int ProductNumbers::bits() const {
  return std::ranges::find_if(
             kBits, [&](const BitsRow& row) { return row.type == type && row.cube == cube; })
      ->bits;
}

ProductNumbers product_numbers(DType w, const CannTarget& target) {
  if (w == DType::kF32 && !in_half(target.f32_products))
    return {DataType::kFloat, target.f32_products};
  if (w == DType::kBF16) return {DataType::kBFloat16, CubeMath::kKeep};
  return {DataType::kFloat16, CubeMath::kKeep};
}

Support product_support(const NodeView& view, std::size_t source, const CannTarget& target) {
  const DType type = view.source(source).dtype;
  if (type == DType::kF32) return f32_support(view, source, target);
  if (type == DType::kF16 || has_blocks(type) || (type == DType::kBF16 && target.chip->bf16))
    return Support::yes();
  return Support::yes_if(static_cast<int>(source), weight_replacement(type, *target.chip));
}

bool has_half_result(const ProductNumbers& numbers, const Chip& chip) {
  return numbers.type == DataType::kFloat16 && !chip.f32_results;
}

double product_rounding(const NodeView& view, std::size_t w, std::size_t x,
                        const ProductNumbers& numbers, const Chip& chip) {
  double error = 0;
  for (const std::size_t source : {w, x}) {
    const DType type = view.source(source).dtype;
    const bool exact =
        has_data_type(type) && bits_of(data_type(type)) == 16 && data_type(type) == numbers.type;
    if (!exact) error += square_of_unit(numbers.bits());
  }
  if (has_half_result(numbers, chip) || is_packed(view, w)) error += square_of_unit(kF16Bits);
  return error * error_share(view.result());
}

double product_largest(const NodeView& view, std::size_t w, const ProductNumbers& numbers,
                       const Chip& chip) {
  const bool half = has_half_result(numbers, chip) || is_packed(view, w);
  return largest_of(half ? DataType::kFloat16 : DataType::kFloat, chip);
}

double group_rounding(const Tensor& result, const ProductNumbers& numbers) {
  return square_of_unit(numbers.bits()) * error_share(result);
}

double largest_of(DataType type, const Chip& chip) {
  return type == DataType::kFloat16 && chip.saturates ? kMostF16
                                                      : std::numeric_limits<double>::infinity();
}

View product_factor(Calls& calls, const View& from, DataType type) {
  if (from.is_contiguous()) return calls.cast(from, type);
  if (const View turned = from.transposed(); turned.is_contiguous())
    return calls.cast(turned, type).transposed();
  const View made = calls.temporary(type, from.sizes());
  calls.copy(made, from);
  return made;
}

namespace {

struct Batches {
  View w, x, y;
};

/// Slices of a factor that are repeated become a dimension of size 1, which the vendor repeats.
Batches repeated(Batches each) {
  for (std::size_t d = each.y.rank(); d-- > 2;) {
    const std::int64_t of_w = each.w.size(d);
    const std::int64_t of_x = each.x.size(d);
    if (of_w == of_x) continue;
    View& whole = of_w < of_x ? each.x : each.w;
    View& part = of_w < of_x ? each.w : each.x;
    const std::int64_t times = whole.size(d) / part.size(d);
    whole = whole.split(d, times);
    part = part.with_dim(d);
    each.y = each.y.split(d, times);
  }
  return each;
}

/// Columns that meet the same matrix of w become columns of one matrix, where x allows it.
Batches folded(Batches each) {
  while (each.y.rank() > 2 && each.w.size(2) == 1 && each.x.can_merge(1)) {
    each = {each.w.without(2), each.x.merged(1), each.y.merged(1)};
  }
  for (std::size_t d = each.y.rank(); d-- > 2;) {
    if (each.w.size(d) == 1 && each.x.size(d) == 1)
      each = {each.w.without(d), each.x.without(d), each.y.without(d)};
  }
  return each;
}

}  // namespace

void multiply(Calls& calls, const ProductNumbers& numbers, const View& w, const View& x,
              const View& y) {
  const DataType type = has_half_result(numbers, calls.chip()) ? DataType::kFloat16 : y.type();
  const bool in_place = type == y.type() && y.is_contiguous();
  const View result = in_place ? y : calls.temporary(type, y.sizes());
  const Batches all = folded(repeated({w, x, result}));
  calls(kMatmul, all.x, all.w.transposed(), all.y, numbers.cube);
  if (!in_place) calls.copy(y, result);
}

void multiply(Calls& calls, const WeightParts& w, const View& x, const View& y) {
  const std::int64_t k = w.codes.size(0);
  const std::int64_t m = w.codes.size(1);
  // Pieces are alike: a row alone would not be a matrix of 4-bit numbers.
  const std::int64_t piece = ceil_div(m, ceil_div(m, kMostSide));
  for (std::int64_t first = 0; first < m; first += piece) {
    const std::int64_t count = std::min(piece, m - first);
    const View codes = w.codes.without(2).sliced(1, first, count).transposed();
    const View scales = w.scales.without(2).sliced(1, first, count);
    const bool per_column = k == kScaledElements;
    const bool in_place = count == m && y.type() == DataType::kFloat16 && y.is_contiguous();
    const View result = in_place ? y : calls.temporary(DataType::kFloat16, {count, x.size(1)});
    calls(kWeightQuantBatchMatmulV2, x, codes, per_column ? scales.without(0) : scales.transposed(),
          std::nullopt, std::nullopt, std::nullopt, std::nullopt,
          static_cast<std::int32_t>(per_column ? 0 : kScaledElements), result);
    if (!in_place) calls.copy(y.sliced(0, first, count), result);
  }
}

}  // namespace shunt::cann
