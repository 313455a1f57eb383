// Turning rows of one tensor into another type, on many threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shunt/quantize.h"

namespace shunt {

/// The quantization error: sums over the elements of some rows.
struct RowError {
  double error_squares = 0;
  double squares = 0;
};

/// One tensor of a file, row after row.
class RowConverter {
 public:
  RowConverter(const QuantizedTensor& tensor, int threads);

  std::int64_t rows() const { return rows_; }
  /// How many rows are a good piece of work.
  std::int64_t piece() const;
  /// Converts rows `first` to `first + count`, whose bytes are `from` as they are in the file.
  /// Little-endian; the result stays until the next call. Adds the error to `error`, in an order
  /// that depends on the rows alone.
  Result<std::span<const std::byte>> convert(std::span<const std::byte> from, std::int64_t first,
                                             std::int64_t count, RowError& error);

 private:
  /// The work space of a thread.
  struct Room {
    std::vector<std::byte> bytes;  ///< of a row, in the byte order of memory
    std::vector<float> before;
    std::vector<float> after;
  };
  Status convert_row(std::span<const std::byte> from, std::int64_t row, std::span<std::byte> to,
                     Room& room, RowError& error) const;

  const QuantizedTensor& tensor_;
  std::size_t threads_;
  std::int64_t columns_;
  std::int64_t rows_;
  std::size_t from_bytes_;  // of a row
  std::size_t to_bytes_;
  std::vector<std::vector<float>> weights_;  // by matrix; none: all alike
  std::vector<std::byte> result_;
};

}  // namespace shunt
