#include "ascend/tensors/nz.h"

#include <utility>

namespace ascend_twin {
namespace {

constexpr std::int64_t kRows = 16;

std::int64_t up(std::int64_t value, std::int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

std::int64_t nz_elements(aclDataType type, std::int64_t rows, std::int64_t columns) {
  return up(rows, kRows) * up(columns, nz_columns(type));
}

std::int64_t nz_place(aclDataType type, std::int64_t rows, std::int64_t row, std::int64_t column) {
  const std::int64_t width = nz_columns(type);
  return (column / width * (up(rows, kRows) / kRows) + row / kRows) * kRows * width +
         row % kRows * width + column % width;
}

NzMatrix nz_matrix(const View& view) {
  const std::size_t rank = view.rank();
  NzMatrix matrix;
  if (rank < 2) {
    matrix.columns = view.elements();
    return matrix;
  }
  matrix.rows = view.shape[rank - 2];
  matrix.columns = view.shape[rank - 1];
  for (std::size_t i = 0; i + 2 < rank; ++i) matrix.batches *= view.shape[i];
  matrix.is_transposed = view.strides[rank - 2] == 1 && view.strides[rank - 1] != 1;
  if (matrix.is_transposed) std::swap(matrix.rows, matrix.columns);
  return matrix;
}

std::int64_t nz_place_of(const View& view, std::int64_t number) {
  const NzMatrix matrix = nz_matrix(view);
  const std::int64_t each = matrix.rows * matrix.columns;
  const std::int64_t within = number % each;
  const std::int64_t row = matrix.is_transposed ? within % matrix.rows : within / matrix.columns;
  const std::int64_t column = matrix.is_transposed ? within / matrix.rows : within % matrix.columns;
  return view.offset + number / each * nz_elements(view.type, matrix.rows, matrix.columns) +
         nz_place(view.type, matrix.rows, row, column);
}

std::int64_t nz_span(const View& view) {
  const NzMatrix matrix = nz_matrix(view);
  return matrix.batches * nz_elements(view.type, matrix.rows, matrix.columns);
}

Shape nz_storage(aclDataType type, const Shape& shape) {
  if (shape.size() < 2) return shape;
  const std::int64_t width = nz_columns(type);
  Shape storage(shape.begin(), shape.end() - 2);
  storage.push_back(up(shape.back(), width) / width);
  storage.push_back(up(shape[shape.size() - 2], kRows) / kRows);
  storage.push_back(kRows);
  storage.push_back(width);
  return storage;
}

std::string nz_fault(const View& view) {
  if (view.offset != 0) return ", which begins inside of memory in NZ";
  View stored = view;
  if (nz_matrix(view).is_transposed) {
    std::swap(stored.shape[view.rank() - 1], stored.shape[view.rank() - 2]);
    std::swap(stored.strides[view.rank() - 1], stored.strides[view.rank() - 2]);
  }
  if (!stored.is_contiguous()) return ", of which NZ has no strides";
  const Shape expected = nz_storage(view.type, stored.shape);
  const Shape& storage = view.storage;
  const bool says_fractals = storage.size() >= 4 && storage.back() == expected.back() &&
                             storage[storage.size() - 2] == kRows;
  if (says_fractals && storage != expected)
    return ", a part of memory in NZ of the shape " + text_of(storage);
  if (view.storage_elements() < nz_span(view)) {
    return ", which in NZ takes " + std::to_string(nz_span(view)) + " elements and has " +
           std::to_string(view.storage_elements());
  }
  return "";
}

}  // namespace ascend_twin
