// A weight as the machine computes with it. A row is one there, too. A matrix is transposed: [k, n]
// of Shunt is (k, n) of the machine, which the products of z16 need. It is cut into pieces where it
// is larger than a tensor may be.
#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "backend_support/host_tensor.h"
#include "backend_support/matrix_grid.h"
#include "backend_support/number_range.h"
#include "backend_support/staged_weight.h"
#include "backends/zdnn/outcome.h"
#include "backends/zdnn/stick.h"

namespace shunt::zdnn {

/// The format of a weight's numbers there.
enum class WeightForm : std::uint8_t {
  kDlfloat16,
  kInt8,  ///< with a scale for each piece; only matrices
};

/// How a matrix [k, n] is cut.
struct Grid : MatrixGrid {
  WeightForm form = WeightForm::kDlfloat16;

  /// Sizes of piece (i of k, j of n), as the machine has it.
  Dims dims(std::int64_t i, std::int64_t j) const { return {1, size_k(i), size_n(j)}; }
  std::uint64_t piece_bytes(std::int64_t i, std::int64_t j) const;
  /// Of all pieces.
  std::uint64_t bytes() const;
};
/// Whole if the machine takes that, both as a weight and as the other operand of a product.
Grid grid_of(const Machine& machine, std::int64_t k, std::int64_t n);
/// The same of 8-bit weights. Columns of about a MiB share a scale: the more there are of one, the
/// coarser it is, and each costs a call.
Grid int8_grid_of(const Machine& machine, std::int64_t k, std::int64_t n);

/// Bytes of work space that stickify_transposed needs for at most `rows` rows of at most k.
std::size_t transpose_bytes(std::int64_t k, std::int64_t rows);
/// The result of bringing plain numbers into the layout.
struct Entered {
  std::uint32_t status = kOk;  ///< the library's; kConvertFailure of numbers that it does not have
  bool saturated = false;      ///< some of those became the largest ones that it has

  void add(const Entered& next) {
    if (next.status != kOk) status = next.status;
    saturated |= next.saturated;
  }
};
/// Part of a matrix, transposed to (elements, rows) at `to`. `saturate`: finite numbers that are
/// too large become the largest one.
Entered stickify_transposed(const Symbols& zdnn, const HostTensor& from, std::int64_t matrix,
                            const MatrixPart& part, std::byte* work, std::byte* to, bool saturate);

/// One weight in such memory. Data that is read from a quantised type is quantised again.
class WeightSticks final : public StagedWeight {
 public:
  /// Whether it is for adding to rows and multiplying them, and not a matrix.
  static bool is_row(const Tensor& tensor) { return tensor.size(1) == 1; }
  static Grid grid_of(const Machine& machine, const Tensor& tensor, WeightForm form);

  /// `tensor`: contiguous, of at most two dimensions, of a type that can be decoded and encoded,
  /// and of single elements if it is a row; `memory` as large as grid_of() says, at a page.
  WeightSticks(const Machine& machine, const Tensor& tensor, WeightForm form, std::byte* memory);

  const Grid& grid() const { return grid_; }
  /// The elements of some rows, one after the other: those that the machine computes with, or where
  /// it can't have all of them, those that were written. A row for adding counts as rows of one.
  Result<std::vector<float>> rows(std::int64_t first, std::int64_t count);
  /// Whether numbers that it does not have became the largest one. Valid after settle().
  bool saturated() const { return saturated_; }
  /// The error of the numbers of form kInt8. Nothing, unless the machine has all of them.
  std::optional<LossyCost> cost();
  /// Valid after settle(), until it is written to again.
  const Stick& piece(std::int64_t i, std::int64_t j) const { return pieces_[grid_.index(i, j)]; }

 protected:
  Result<bool> pack(std::span<std::byte> plain) override;
  Status unpack(std::span<std::byte> to) const override;

 private:
  HostTensor host(std::byte* data) const;
  /// Transforms plain bytes to piece (i, j). The library's status.
  std::uint32_t fill(std::int64_t i, std::int64_t j, const HostTensor& plain, std::byte* work);
  /// The rows of a piece, transposed: element e of row r at to[e * rows + r].
  Status read_piece(const Stick& from, float* to) const;
  /// Calls visit(row, first element, floats) for these rows of each piece.
  template <class Visit>
  Status each_row(std::int64_t first, std::int64_t count, const Visit& visit) const;

  const Machine& machine_;
  Tensor tensor_;
  Grid grid_;
  std::deque<Stick> pieces_;  // by number in the grid
  LossyCost cost_;
  std::atomic<bool> saturated_ = false;
};

}  // namespace shunt::zdnn
