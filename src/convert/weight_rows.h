// The bytes of weights, made of published tensors row by row.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "convert/weight_source.h"

namespace shunt {

/// Reads rows of one weight after the other, in memory of its own where they are not in the mapped
/// file as they should be.
class WeightRows {
 public:
  /// Rows from `first` on, little-endian, in the type of the weight; they stay until the next call.
  /// BadFile for a number that the type can't hold.
  Result<std::span<const std::byte>> read(const WeightSource& source, std::int64_t first,
                                          std::int64_t count);

 private:
  void gather(const WeightSource& source, std::int64_t first, std::int64_t count);
  void gather_row(const WeightSource& source, std::int64_t row, std::byte* to) const;
  void gather_columns(const WeightSource& source, std::int64_t first, std::int64_t count);
  Status convert(const WeightSource& source, std::int64_t first, std::int64_t count);
  void decode_row(const WeightSource& source, std::int64_t row, std::span<const std::byte> from);

  std::vector<std::byte> gathered_;
  std::vector<std::byte> converted_;
  std::vector<std::byte> row_;
  std::vector<float> numbers_;  // of a row
};

}  // namespace shunt
