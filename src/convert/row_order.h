// The rows of a published matrix in the order of the file that is made.
#pragma once

#include <cstdint>
#include <vector>

#include "model/published.h"

namespace shunt {

/// The published row of each row; empty: the same. `rows` is their number. With a selection, the
/// published matrix has more.
std::vector<std::int64_t> row_order(const PublishedTensor& from, const Layer& layer,
                                    std::int64_t rows);
/// The published column of each column; empty: the same.
std::vector<std::int64_t> column_order(const PublishedTensor& from, const Layer& layer,
                                       std::int64_t columns);

/// How many rows the published matrix has for `rows` of them, and columns for `columns`.
std::int64_t published_rows(const PublishedTensor& from, const Layer& layer, std::int64_t rows);
std::int64_t published_columns(const PublishedTensor& from, const Layer& layer,
                               std::int64_t columns);

}  // namespace shunt
