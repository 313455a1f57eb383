#include "convert/source_view.h"

#include <algorithm>

#include "convert/row_order.h"
#include "tensor/checked.h"

namespace shunt {

namespace {

/// The sizes without those of 1, outermost first.
std::vector<std::int64_t> without_ones(std::vector<std::int64_t> sizes) {
  std::erase(sizes, 1);
  return sizes;
}

/// Rows and columns of the weight: a vector is a column, so that its elements are ordered as rows
/// are. So are vectors of experts whose elements are selected.
SourceView rows_of(const PublishedTensor& from, const Sizes& sizes) {
  SourceView view;
  const bool is_vector = sizes[1] * sizes[2] == 1;
  if (is_vector) {
    view.rows = sizes[0];
  } else if (from.rows != Rows::kAll && !from.transposed && sizes[2] == 1 &&
             from.name.find("bias") != std::string_view::npos) {
    view.count = sizes[1];
    view.rows = sizes[0];
  } else {
    view.columns = sizes[0];
    view.rows = sizes[1];
    view.count = sizes[2];
  }
  return view;
}

}  // namespace

std::optional<SourceView> view_of(const StoredTensor& tensor, const PublishedTensor& from,
                                  const Layer& layer, const Sizes& sizes, bool is_stack) {
  SourceView view = rows_of(from, sizes);
  view.transposed = from.transposed || from.order == Order::kLatentKeys;
  const std::int64_t rows = published_rows(from, layer, view.rows);
  const std::int64_t columns = published_columns(from, layer, view.columns);
  view.published_rows = view.transposed ? columns : rows;
  view.published_columns = view.transposed ? rows : columns;
  const std::int64_t count = is_stack ? 1 : view.count;
  const std::vector<std::int64_t> found = without_ones(tensor.shape);
  const bool is_matrix =
      found == without_ones({count, view.published_rows, view.published_columns});
  // The heads of latent attention are rows of one matrix.
  const bool is_tall = found == without_ones({saturating_multiply(count, view.published_rows),
                                              view.published_columns});
  // A norm of groups is one vector.
  const bool is_same = !view.transposed && from.rows == Rows::kAll && from.order == Order::kSame;
  const bool is_flat =
      is_same && count == 1 &&
      found == without_ones({saturating_multiply(view.published_rows, view.published_columns)});
  if (!is_matrix && !is_tall && !is_flat) return std::nullopt;
  // Now that the sizes are those of a tensor.
  view.row_order = row_order(from, layer, view.rows);
  view.column_order = column_order(from, layer, view.columns);
  return view;
}

}  // namespace shunt
