// The shapes of a product of two tensors, and the product itself.
#pragma once

#include <cstdint>
#include <vector>

#include "ascend/ops/op.h"
#include "ascend/ops/products/cube.h"

namespace ascend_twin {

/// Vectors are rows or columns, batches are the dimensions before the last two.
struct ProductShapes {
  Shape batch, out;
  std::int64_t m = 1, n = 1, k = 1;
};

Status product_shapes(const Call& call, std::size_t a, std::size_t b, ProductShapes* shapes);

/// Shapes, order of batches and format of both factors and of the result. Only the second factor
/// may be NZ.
Status check_product(const Call& call, std::size_t a, std::size_t b, std::size_t out);

/// ND, else 161002.
Status need_nd(const Call& call, std::size_t position);
/// A whole tensor in NZ; strict mode objects to a part of one (161002).
Status need_nz(const Call& call, std::size_t position);
/// Contiguous, or the last two dimensions swapped; else 161002.
Status need_matrix_order(const Call& call, std::size_t position);

/// A fixed part, and one that goes down in steps as m grows (facts C): a program that asks at the
/// largest extents only gets too little.
std::uint64_t product_workspace(const ProductShapes& shapes);

/// [m][n] for each batch of the result.
std::vector<float> product_of(const Operand& a, const Operand& b, const ProductShapes& shapes,
                              CubeNumbers numbers);

}  // namespace ascend_twin
