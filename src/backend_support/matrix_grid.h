// A matrix cut into pieces, for a device that limits the size of a matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend_support/host_tensor.h"
#include "base/ceil_div.h"
#include "shunt/error.h"

namespace shunt {

/// Rows of k elements, n of them, in pieces of piece_k elements of piece_n rows; the last ones may
/// be smaller.
struct MatrixGrid {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t piece_k = 0;
  std::int64_t piece_n = 0;

  std::int64_t count_k() const { return ceil_div(k, std::max<std::int64_t>(piece_k, 1)); }
  std::int64_t count_n() const { return ceil_div(n, std::max<std::int64_t>(piece_n, 1)); }
  bool whole() const { return piece_k >= k && piece_n >= n; }
  /// Sizes of piece number `i` of k, or `j` of n.
  std::int64_t size_k(std::int64_t i) const { return std::min(piece_k, k - i * piece_k); }
  std::int64_t size_n(std::int64_t j) const { return std::min(piece_n, n - j * piece_n); }
  /// Where piece (i of k, j of n) is in the matrix.
  MatrixPart part(std::int64_t i, std::int64_t j) const {
    return {i * piece_k, size_k(i), j * piece_n, size_n(j)};
  }
  /// The number of piece (i of k, j of n): by j, then i.
  std::size_t index(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(j * count_k() + i);
  }
  /// Calls visit(i, j) for each piece in the order of their numbers.
  template <class Visit>
  void each(const Visit& visit) const {
    for (std::int64_t j = 0; j < count_n(); ++j) {
      for (std::int64_t i = 0; i < count_k(); ++i) visit(i, j);
    }
  }
};

/// Reads rows [first, first + count) of a matrix whose pieces are stored transposed. The call
/// `read(i, j, begin, n, to)` reads n rows of piece (i, j) from number `begin` on: element e of row
/// r is at to[e * n + r]. At most `at_once` rows are read at a time, from multiples of that on.
/// Calls visit(row, element, floats) for the elements that each piece has of a row, from that
/// element on. Stops at an error of `read`.
template <class Read, class Visit>
Status read_transposed(const MatrixGrid& grid, std::int64_t first, std::int64_t count,
                       std::int64_t at_once, const Read& read, const Visit& visit) {
  std::vector<float> columns;
  std::vector<float> row(static_cast<std::size_t>(grid.piece_k));
  for (std::int64_t j = 0; j < grid.count_n(); ++j) {
    const std::int64_t of_piece = j * grid.piece_n;
    const std::int64_t end = std::min(first + count - of_piece, grid.size_n(j));
    const std::int64_t begin = std::max<std::int64_t>(first - of_piece, 0);
    for (std::int64_t c = begin / at_once * at_once; c < end; c += at_once) {
      const std::int64_t n = std::min(at_once, grid.size_n(j) - c);
      for (std::int64_t i = 0; i < grid.count_k(); ++i) {
        const std::int64_t k = grid.size_k(i);
        columns.resize(static_cast<std::size_t>(k * n));
        SHUNT_TRY(read(i, j, c, n, columns.data()));
        for (std::int64_t r = std::max<std::int64_t>(begin - c, 0); r < n && c + r < end; ++r) {
          for (std::int64_t e = 0; e < k; ++e) {
            row[static_cast<std::size_t>(e)] = columns[static_cast<std::size_t>(e * n + r)];
          }
          visit(of_piece + c + r, i * grid.piece_k,
                std::span<const float>(row).first(static_cast<std::size_t>(k)));
        }
      }
    }
  }
  return ok();
}

}  // namespace shunt
