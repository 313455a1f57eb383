#include "convert/scale_form.h"

#include <algorithm>

#include "tensor/checked.h"

namespace shunt {

namespace {

using ShapeOfScales = std::vector<std::int64_t>;

bool is_type_of_scales(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16 ||
         type == StoredType::kF8E8M0;
}

/// Whether these are scales of a matrix with `rows` by `columns` of them, for all matrices. They
/// may follow one another without a dimension of their own if no block has rows of two matrices.
bool has_grid(const ShapeOfScales& shape, const ScaledMatrices& scaled, std::int64_t rows,
              std::int64_t columns, bool joined) {
  if (scaled.stacked && shape == ShapeOfScales{scaled.matrices, rows, columns}) return true;
  return joined && shape == ShapeOfScales{saturating_multiply(scaled.matrices, rows), columns};
}

bool has_blocks(const ShapeOfScales& shape, const ScaledMatrices& scaled,
                const ShapeOfScales& block) {
  const auto blocks = [](std::int64_t all, std::int64_t size) { return (all + size - 1) / size; };
  const bool joined = scaled.matrices == 1 || scaled.rows % block[0] == 0;
  return has_grid(shape, scaled, blocks(scaled.rows, block[0]), blocks(scaled.columns, block[1]),
                  joined);
}

bool has_rows(const ShapeOfScales& shape, const ScaledMatrices& scaled) {
  if (has_grid(shape, scaled, scaled.rows, 1, true)) return true;
  if (scaled.stacked && shape == ShapeOfScales{scaled.matrices, scaled.rows}) return true;
  return shape == ShapeOfScales{saturating_multiply(scaled.matrices, scaled.rows)};
}

/// A scale a matrix, whatever dimensions of 1 are around it.
bool has_one(ShapeOfScales shape, const ScaledMatrices& scaled) {
  std::erase(shape, 1);
  return scaled.matrices == 1 ? shape.empty() : shape == ShapeOfScales{scaled.matrices};
}

}  // namespace

std::optional<ScaleForm> scale_form(StoredType type, const std::vector<std::int64_t>& shape,
                                    const ScaledMatrices& scaled,
                                    const std::vector<std::int64_t>& block) {
  if (!is_type_of_scales(type)) return std::nullopt;
  if (has_blocks(shape, scaled, block)) return ScaleForm{block[0], block[1]};
  if (has_rows(shape, scaled)) return ScaleForm{1, 0};
  if (has_one(shape, scaled)) return ScaleForm{0, 0};
  return std::nullopt;
}

}  // namespace shunt
