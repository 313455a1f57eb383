// A weight as the machine computes with it. A row is one there, too; a matrix is transposed, [k, n]
// of ours as (k, n) of the machine's, so that the products of z16 do, and cut into pieces where it
// is larger than a tensor may be.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/zdnn/host_tensor.h"
#include "backends/zdnn/outcome.h"
#include "shunt/lossy_weights.h"

namespace shunt::zdnn {

/// What a weight's numbers are there.
enum class WeightForm : std::uint8_t {
  kDlfloat16,
  kInt8,  ///< with a scale for each piece; only matrices
};

/// How a matrix [k, n] is cut: pieces of piece_k by piece_n, the last ones of what is left.
struct Grid {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t piece_k = 0;
  std::int64_t piece_n = 0;
  WeightForm form = WeightForm::kDlfloat16;

  std::int64_t count_k() const;
  std::int64_t count_n() const;
  bool whole() const { return piece_k >= k && piece_n >= n; }
  /// Sizes of piece (i of k, j of n), as the machine has it.
  Dims dims(std::int64_t i, std::int64_t j) const;
  std::uint64_t piece_bytes(std::int64_t i, std::int64_t j) const;
  /// Of all pieces.
  std::uint64_t bytes() const;
};
/// Whole if the machine takes that, both as a weight and as what it is multiplied with.
Grid grid_of(const Machine& machine, std::int64_t k, std::int64_t n);
/// The same of 8-bit weights. Columns of about a MiB share a scale: the more there are of one, the
/// coarser it is, and each costs a call.
Grid int8_grid_of(const Machine& machine, std::int64_t k, std::int64_t n);

/// Bytes of work space that stickify_transposed needs for rows of k.
std::size_t transpose_bytes(std::int64_t k);
/// Rows [row, row + rows) of a matrix, elements [begin, begin + k) of each.
struct MatrixPart {
  std::int64_t i2 = 0;
  std::int64_t i3 = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t begin = 0;
  std::int64_t k = 0;
};
/// What became of plain numbers on their way into the layout.
struct Entered {
  std::uint32_t status = kOk;  ///< the library's; kConvertFailure of numbers that it does not have
  bool saturated = false;      ///< some of those became the largest ones that it has
};
/// That part, transposed to (k, rows) at `to`. `saturate`: finite numbers that are too large become
/// the largest one.
Entered stickify_transposed(const Symbols& zdnn, const HostTensor& from, const MatrixPart& part,
                            std::byte* work, std::byte* to, bool saturate = false);

/// One weight in such memory. It is written and read as if it were plain: what is written is kept
/// aside until its last byte has come, or until somebody wants to compute with it.
class WeightSticks {
 public:
  /// Whether it is for adding to rows and multiplying them, and not a matrix.
  static bool is_row(const Tensor& tensor) { return tensor.size(1) == 1; }
  static Grid grid_of(const Machine& machine, const Tensor& tensor, WeightForm form);

  /// `tensor`: contiguous, of at most two dimensions, of a type that can be decoded and encoded,
  /// and of single elements if it is a row; `memory` as large as grid_of() says, at a page.
  WeightSticks(const Machine& machine, const Tensor& tensor, WeightForm form, std::byte* memory);

  std::size_t plain_bytes() const { return plain_bytes_; }
  const Grid& grid() const { return grid_; }
  Status write(std::size_t offset, std::span<const std::byte> from);
  /// Of a quantised type, what is read is quantised again: near what was written, not the same.
  Status read(std::size_t offset, std::span<std::byte> to);
  /// The elements of some rows, one after the other: those that the machine computes with, or where
  /// it can't have all of them, those that were written. A row for adding counts as rows of one.
  Result<std::vector<float>> rows(std::int64_t first, std::int64_t count);
  /// Whether numbers that it does not have became the largest one. Valid after settle().
  bool saturated() const { return saturated_; }
  /// Transforms what has been written since. True if the machine has all of its numbers; else
  /// nobody may compute with the pieces.
  Result<bool> settle();
  /// What the numbers of form kInt8 are off by. Nothing, unless the machine has all of them.
  std::optional<LossyCost> cost();
  /// Valid after settle(), until it is written to again.
  const Stick& piece(std::int64_t i, std::int64_t j) const {
    return pieces_[static_cast<std::size_t>(j * grid_.count_k() + i)];
  }

 private:
  HostTensor host(std::byte* data) const;
  Result<bool> settle_locked();
  /// Transforms what is written to piece (i, j). The library's status.
  std::uint32_t fill(std::int64_t i, std::int64_t j, std::byte* work);
  /// The rows of a piece, transposed: element e of row r at to[e * rows + r]. The library's status.
  std::uint32_t read_piece(const Stick& from, float* to) const;
  /// Plain bytes out of the pieces, as near as they are.
  Status restore(std::span<std::byte> to) const;
  /// Calls visit(row, first element, floats) for these rows of each piece.
  template <class Visit>
  Status each_row(std::int64_t first, std::int64_t count, const Visit& visit) const;

  const Machine& machine_;
  Tensor tensor_;
  Grid grid_;
  std::size_t plain_bytes_;
  std::deque<Stick> pieces_;  // by j, then i
  std::mutex mutex_;
  std::vector<std::byte> plain_;  // what is not in the pieces, or not as it was
  LossyCost cost_;
  bool filled_ = false;  // the pieces hold something
  bool dirty_ = false;   // but not what was written last
  std::atomic<bool> saturated_ = false;
};

}  // namespace shunt::zdnn
