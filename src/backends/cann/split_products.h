// Products of matrices at the precision of their operands, whichever products the chip has.
#pragma once

#include <optional>

#include "backends/cann/calls.h"
#include "backends/cann/target.h"

namespace shunt::cann {

/// Matrices as the chip multiplies them.
struct Factor {
  View high;
  /// The rest of F32 numbers whose F16 numbers are `high`, times 2^11.
  std::optional<View> low;
};

/// Products of matrices of one type, F32, F16 or BF16.
class Products {
 public:
  /// `type`: that of the matrices before factor().
  Products(Calls& calls, const CannTarget& target, DataType type);

  /// Of the chip's own operands.
  DataType type() const { return type_; }
  /// Whether the results are those of F16 numbers, and are F16 numbers.
  bool is_narrow() const { return narrow_; }

  /// Matrices of any type of floats. Batches in any order.
  Factor factor(const View& from) const;
  /// F32 matrices, without gaps, in memory that is given: `high` and `low` of type() and as many
  /// elements, `spare` of F32.
  Factor factor(const View& from, const View& high, const View& low, const View& spare) const;
  /// Whether factor() has a low part.
  bool is_split() const { return split_; }

  /// out = a b: out [N, M, ...], a [K, M, ...], b [N, K, ...], of as many batches. `out` is F32
  /// without gaps, and `spare` is memory of its size.
  void multiply(const Factor& a, const Factor& b, const View& out, const View& spare) const;
  void multiply(const Factor& a, const Factor& b, const View& out) const;

 private:
  View in_order(const View& from) const;
  void low_part(const View& from, const View& high, const View& spare, const View& low) const;

  Calls& calls_;
  DataType type_ = DataType::kFloat;
  CubeMath math_ = CubeMath::kKeep;
  bool narrow_ = false;
  bool split_ = false;
};

/// Whether products of F32 numbers are coarser than F32.
bool has_coarse_products(const CannTarget& target);

}  // namespace shunt::cann
