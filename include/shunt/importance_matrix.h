/// \file
/// Importance matrices: how much each column of each weight matters. They are sums of squares of
/// the activations that a weight met while a model computed a text. importance.h computes one, and
/// quantize.h uses it. The file format is that of other programs.
///
/// \code
/// SHUNT_ASSIGN(const ImportanceMatrix matrix, read_importance("imatrix.gguf"));
/// \endcode
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shunt/error.h"
#include "shunt/gguf.h"

namespace shunt {

/// Of one tensor, which is one matrix, or one an expert.
struct ColumnSums {
  std::int64_t columns = 0;     ///< dimension 0 of the tensor
  std::vector<double> squares;  ///< [columns, matrices]
  std::vector<double> counts;   ///< [matrices]: activations that each has met

  std::int64_t matrices() const { return static_cast<std::int64_t>(counts.size()); }
};

struct ImportanceMatrix {
  std::map<std::string, ColumnSums, std::less<>> tensors;  ///< by name
  std::vector<std::string> datasets;                       ///< names of the texts
  std::uint32_t chunk_count = 0;
  std::uint32_t chunk_size = 0;  ///< tokens

  /// Weights for encode_row() of a row of one matrix, of mean 1. A column that met nothing but
  /// zeros still counts a little: another text may use it. Empty, which is all alike, for a matrix
  /// that met nothing at all.
  static std::vector<float> weights(const ColumnSums& sums, std::int64_t matrix);
};

/// Reads a file whose general.type is "imatrix": F32 tensors NAME.in_sum2 [columns, matrices] and
/// NAME.counts [1, matrices]; datasets, chunk count and size if they are there. NotFound, Io, or
/// BadFile, naming the tensor and the problem.
Result<ImportanceMatrix> read_importance(const std::string& path);

/// Writes one, through a temporary file. Sums are rounded to F32; Invalid, naming the tensor, and
/// nothing is written, if one is negative, not a number, or more than F32 holds.
Status write_importance(const std::string& path, const ImportanceMatrix& matrix);

}  // namespace shunt
