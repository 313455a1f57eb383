// How the scales of a tensor of 8-bit floats are shared.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "convert/stored_type.h"

namespace shunt {

/// Rows and columns that share a scale; 0: all of a matrix.
struct ScaleForm {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  bool operator==(const ScaleForm&) const = default;
};

/// A published tensor of `matrices` matrices, one after another.
struct ScaledMatrices {
  std::int64_t matrices = 1;
  std::int64_t rows = 1;     ///< of a matrix
  std::int64_t columns = 1;  ///< of a matrix
  bool stacked = false;      ///< whether the tensor has a dimension for matrices
};

/// By the shape of the scales: one for each block of `block` rows and columns, one a row, or one a
/// matrix. Blocks come first, as numbers of elements can be alike. None for another shape, and for
/// a type that scales don't have.
std::optional<ScaleForm> scale_form(StoredType type, const std::vector<std::int64_t>& shape,
                                    const ScaledMatrices& scaled,
                                    const std::vector<std::int64_t>& block);

}  // namespace shunt
